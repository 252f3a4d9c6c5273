#pragma once

#include "agent/turn_trace.hpp"
#include "core/audit/audit_observer.hpp"
#include "core/call/call_span.hpp"
#include "core/live/finished_call.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/telemetry/otlp_spans.hpp"
#include "net/codec/http_url.hpp"
#include "net/http/blocking_client.hpp"
#include "runtime/audit_trail.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace crab::gateway {

/// Where spans go, and what is sent with them.
struct TraceTarget {
    net::HttpUrl url;
    std::vector<std::pair<std::string, std::string>> headers;
    net::BlockingClient::Options client;

    /// As `tracing` of the configuration says, else as OpenTelemetry's variables do
    /// (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT,
    /// OTEL_EXPORTER_OTLP_HEADERS). Nothing when neither names a collector. Errors: kInvalidArgs.
    static Result<std::optional<TraceTarget>> read(const config::TracingOptions& options);
};

/// Sends spans to a collector (OTLP/HTTP, JSON) from a thread of its own: 512 at a time, or what
/// has come within a second. Keeps at most kMostKept; what comes beyond is dropped and counted.
/// 429, 502, 503, 504 and a collector that is away are tried again, five times, as Retry-After
/// says; any other answer but 2xx drops the request. Thread-safe.
class TraceExporter final : public core::AuditObserver, public agent::TurnTracer {
public:
    static constexpr std::size_t kMostKept = 8192, kMostSent = 512;  ///< spans
    /// Of more records, the rest is left out and counted.
    static constexpr double kReadPerSecond = 10'000;

    struct Counts {
        std::uint64_t sent = 0, dropped = 0, refused = 0;
    };

    TraceExporter(TraceTarget target, std::string version, const Clock& clock);
    /// Sends what it has, once, and ends its thread; waits a few seconds at most.
    ~TraceExporter() override;

    void set_sampling(const SpanSampling& sampling);
    /// Whether the spans of such a call are exported.
    bool takes(std::string_view trace_id, bool failed, std::chrono::nanoseconds took) const;
    void on_batch(const core::AuditBatch& batch) override;
    bool has(std::string_view trace_id) const override { return share_.has(trace_id); }
    void on_turn(const agent::TracedTurn& turn) override;
    Counts counts() const;
    const core::TraceShare& share() const { return share_; }

private:
    using Request = std::vector<CallSpans>;
    bool may_read();  ///< with the lock
    void keep(CallSpans spans);  ///< with the lock
    void work();
    bool next(Request& request);
    void send(const Request& request);
    enum class Answer { kTaken, kTryAgain, kRefused };
    Answer post(const std::string& body, Milliseconds& pause);
    bool wait(Milliseconds pause);
    void tell(bool works, std::string_view reason);

    const TraceTarget target_;
    const std::string version_;
    const Clock& clock_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    OtlpSpans spans_;
    double allowed_ = kReadPerSecond;
    SteadyTime filled_;
    SpanSampling sampling_;
    core::TraceShare share_;  ///< that of sampling_, without the lock
    std::deque<CallSpans> kept_;
    std::size_t kept_spans_ = 0;
    Counts counts_;
    bool stopping_ = false;
    bool last_ = false;  ///< the last request is being sent

    net::BlockingClient client_;  ///< of the thread
    bool works_ = true;  ///< what was told last
    std::thread thread_;  ///< the last: it uses all others
};

/// Traces of calls for an OpenTelemetry collector. Without a collector there is no exporter.
class TraceExport final : public Component {
public:
    TraceExport(const GatewayContext& context, AuditTrail& audit)
        : context_(context), audit_(audit) {}

    std::string_view name() const override { return "trace export"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    /// The share of traces that is exported; null when none is.
    const core::TraceShare* share() const { return exporter_ ? &exporter_->share() : nullptr; }
    /// Whether somebody can open the trace of this call: it is exported, or without an exporter its
    /// caller keeps it.
    bool keeps(const core::FinishedCall& call, std::string_view trace_id) const;
    /// Takes the spans of turns; null when none are exported.
    agent::TurnTracer* turns() const { return exporter_.get(); }

private:
    const GatewayContext& context_;
    AuditTrail& audit_;
    std::shared_ptr<TraceExporter> exporter_;  ///< the audit log holds it too
};

}  // namespace crab::gateway
