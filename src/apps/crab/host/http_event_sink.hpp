#pragma once

#include "hosts/cron/cron_event_sink.hpp"
#include "net/http_client.hpp"

#include <filesystem>
#include <memory>

namespace crab::app {

/// Publishes events at a gateway's `POST /v1/events`, one at a time. Used on one loop.
/// Source: docs/protocols/rtp.md, section 9, "Publishing".
class HttpEventSink final : public cron::CronEventSink {
public:
    /// `authority`: the gateway's peer listener, with the host's own certificate.
    HttpEventSink(net::EventLoop& loop, net::HttpAuthority authority);
    /// The admin socket of a gateway on this machine. Errors: kInvalidArgs for a path that is too long.
    static Result<std::unique_ptr<HttpEventSink>> over(net::EventLoop& loop, const std::filesystem::path& socket);
    ~HttpEventSink() override;

    /// Waits at most 10 s. Errors: kConflict, kInvalidArgs, kForbidden, kOversize as the gateway says; kUnauthenticated;
    /// kRateLimited and kUnavailable with the time that it asks for; kTimeout.
    Task<Result<void>> publish(std::string envelope) override;

private:
    net::EventLoop& loop_;
    net::HttpClient client_;
};

}  // namespace crab::app
