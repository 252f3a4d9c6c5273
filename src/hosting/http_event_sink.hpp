#pragma once

#include "hosts/cron/cron_event_sink.hpp"
#include "net/http/http_client.hpp"

#include <memory>

namespace crab::hosting {

/// Publishes events at a gateway's `POST /v1/events`, one at a time. Used on one loop.
/// Source: docs/protocols/rtp.md, section 9, "Publishing".
class HttpEventSink final : public cron::CronEventSink {
public:
    /// Accepts nothing before connect_to().
    explicit HttpEventSink(net::EventLoop& loop) : loop_(loop) {}
    ~HttpEventSink() override;
    /// Once, before the first event: the admin socket of a gateway on this machine, or a peer
    /// listener with the host's own certificate.
    void connect_to(net::HttpAuthority authority);

    /// Waits at most 10 s. Errors: kConflict, kInvalidArgs, kForbidden, kOversize as the gateway
    /// says; kUnauthenticated; kRateLimited and kUnavailable with retry_after; kTimeout.
    Task<Result<void>> publish(std::string envelope) override;

private:
    net::EventLoop& loop_;
    std::unique_ptr<net::HttpClient> client_;
};

}  // namespace crab::hosting
