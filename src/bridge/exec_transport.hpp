#pragma once

#include "base/task/blocking_pool.hpp"
#include "bridge/provider_transport.hpp"
#include "net/loop/event_loop.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::bridge {

/// Providers that are a command per call, under bubblewrap or not at all: no network, no bus, no
/// home folder, nothing writable but its own /tmp, unless the user granted what it requests.
/// Source: docs/protocols/cetp.md, section 3, exec.
class ExecTransport final : public ProviderTransport {
public:
    static constexpr std::size_t kAtOnce = 8;

    /// `home` is bound for providers that may read the home folder.
    ExecTransport(net::EventLoop& loop, std::filesystem::path bubblewrap,
                  std::filesystem::path home)
        : loop_(loop), bubblewrap_(std::move(bubblewrap)), home_(std::move(home)) {}

    Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                        Deadline deadline) override;
    /// Does nothing: each send starts the command.
    Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) override;

    /// The command line of one call. Errors: kInvalidArgs when `Exec` cannot be split into words.
    Result<std::vector<std::string>> command_line(const cetp::ProviderRecord& provider,
                                                  const cetp::MethodCall& call) const;

private:
    net::EventLoop& loop_;
    const std::filesystem::path bubblewrap_;
    const std::filesystem::path home_;
    BlockingPool commands_{kAtOnce};
};

/// The path of bubblewrap, if it is installed and can create namespaces here. Blocks.
std::optional<std::filesystem::path> find_bubblewrap();

}  // namespace crab::bridge
