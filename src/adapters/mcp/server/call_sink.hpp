#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "base/clock.hpp"
#include "core/call/frame_sink.hpp"

#include <functional>
#include <optional>
#include <string>

namespace crab::mcp {

/// At most so many a second, and as many at once.
class SendRate {
public:
    SendRate(double per_second, SteadyTime now)
        : per_second_(per_second), left_(per_second), filled_at_(now) {}
    bool take(SteadyTime now);

private:
    const double per_second_;
    double left_;
    SteadyTime filled_at_;
};

/// Turns progress and log messages of a call into notifications for its client: progress with a
/// token only and strictly rising, log messages of the level that the client wants: that of the
/// request for modern ones, that of the session for legacy ones.
/// Source: docs/protocols/mcp.md, sections 3.5 and 4.6.
class CallSink : public core::FrameSink {
public:
    /// Whether the message could be sent on the request's own stream.
    using Notify = std::function<bool(const std::string& message)>;
    /// All of it outlives the sink.
    CallSink(const ClientRequest& request, Notify notify, const Clock& clock)
        : request_(request),
          notify_(std::move(notify)),
          clock_(clock),
          progress_rate_(10, clock.steady_now()),
          log_rate_(50, clock.steady_now()) {}

    bool wants_progress() const override { return request_.meta.progress_token.has_value(); }
    void on_progress(const core::Progress& progress) override;
    std::string_view wanted_log_level() const override;
    void on_log(const Log& log) override;

private:
    const ClientRequest& request_;
    const Notify notify_;
    const Clock& clock_;
    SendRate progress_rate_, log_rate_;
    std::optional<double> last_;
    mutable std::string level_;  // what wanted_log_level() views
};

}  // namespace crab::mcp
