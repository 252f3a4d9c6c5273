#pragma once

#include "bridge/provider_transport.hpp"
#include "net/loop/event_loop.hpp"

namespace crab::bridge {

/// Providers behind Unix sockets: one connection per call, a line of JSON there and one envelope
/// back, at most 1 MiB. The socket has to belong to this user or root. Source:
/// docs/protocols/cetp.md, section 3, unix.
class UnixTransport final : public ProviderTransport {
public:
    explicit UnixTransport(net::EventLoop& loop) : loop_(loop) {}

    Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                        Deadline deadline) override;
    /// Does nothing: the listener of a socket is not started by the bridge.
    Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) override;

private:
    net::EventLoop& loop_;
};

}  // namespace crab::bridge
