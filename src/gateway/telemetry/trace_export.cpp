#include "gateway/telemetry/trace_export.hpp"

#include "base/ascii.hpp"
#include "base/doubling_delay.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "config/plain_http.hpp"
#include "core/call/traceparent.hpp"
#include "net/codec/url.hpp"
#include "net/http/http_reply.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::string_view kPath = "/v1/traces";
constexpr int kTries = 5;
constexpr DoublingDelay kPause{.first = Milliseconds(1'000), .longest = Milliseconds(30'000)};
constexpr Milliseconds kTogether{1'000};  // what comes within this is one request
constexpr Milliseconds kOneTry{3'000};

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Rows of `name<mark>value`, between `end`s.
Result<Headers> read_headers(std::string_view text, char mark, char end, std::string_view from) {
    Headers headers;
    while (!text.empty()) {
        const std::size_t stop = std::min(text.find(end), text.size());
        const std::string_view row = trim(text.substr(0, stop), " \t\r");
        text.remove_prefix(std::min(stop + 1, text.size()));
        if (row.empty()) continue;
        const std::size_t at = row.find(mark);
        const std::string_view name = trim(row.substr(0, at));
        if (at == std::string_view::npos || name.empty())
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}: every row is a name, '{}' and a value", from, mark));
        headers.emplace_back(name, trim(row.substr(at + 1)));
    }
    return headers;
}

/// The environment's belong to the collector that it names: another one does not get its token.
/// Values are percent-encoded (OpenTelemetry, OTLP exporter configuration).
Result<Headers> headers_of_environment() {
    constexpr std::string_view kName = "OTEL_EXPORTER_OTLP_HEADERS";
    auto headers = read_headers(environment(kName.data()), '=', ',', kName);
    if (!headers) return headers;
    for (auto& [name, value] : *headers) {
        auto decoded = net::percent_decode(value);
        if (!decoded || decoded->find_first_of("\r\n") != std::string::npos)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}: the value of {} is not percent-encoded", kName, name));
        value = std::move(*decoded);
    }
    return headers;
}

Result<Headers> headers_of(const config::TracingOptions& options) {
    if (options.headers_file.empty())
        return options.otlp.empty() ? headers_of_environment() : Headers();
    std::ifstream file(options.headers_file);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!file)
        return fail(ErrorCode::kInvalidArgs, fmt::format("tracing.headers_file: cannot read {}",
                                                         options.headers_file.string()));
    return read_headers(text, ':', '\n', "tracing.headers_file");
}

std::string url_of(const config::TracingOptions& options) {
    if (!options.otlp.empty()) return options.otlp;
    if (const auto whole = environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); !whole.empty())
        return std::string(whole);
    std::string base(environment("OTEL_EXPORTER_OTLP_ENDPOINT"));
    if (base.empty()) return base;
    while (base.ends_with('/')) base.pop_back();
    return base + std::string(kPath);
}

Result<SpanSampling> sampling_of(const config::TracingOptions& options) {
    auto sampling = SpanSampling::read(options.sample, options.always);
    if (!sampling)
        return fail(ErrorCode::kInvalidArgs,
                    "tracing.always: has errors and durations such as slow:1s");
    return *sampling;
}

net::Endpoint endpoint_of(const net::HttpUrl& url) {
    const bool six = url.host.contains(':');
    auto endpoint = net::parse_endpoint(
        fmt::format("{}{}{}:{}", six ? "[" : "", url.host, six ? "]" : "", url.port));
    return endpoint ? std::move(*endpoint) : net::Endpoint();
}

}  // namespace

Result<std::optional<TraceTarget>> TraceTarget::read(const config::TracingOptions& options) {
    const std::string text = url_of(options);
    if (text.empty()) return std::nullopt;
    auto url = net::HttpUrl::parse(text);
    if (!url) return fail(ErrorCode::kInvalidArgs, "tracing.otlp: is no http or https URL");
    if (url->path.empty() || url->path == "/") url->path = kPath;
    auto headers = headers_of(options);
    if (!headers) return fail(std::move(headers.error()));
    if (!headers->empty() && !options.allow_plain && config::is_plain_elsewhere(text))
        return fail(ErrorCode::kInvalidArgs,
                    "tracing.otlp: is http on another machine, where header fields could be read "
                    "on the way: use https://, or tracing.allow_plain where something else "
                    "encrypts");
    TraceTarget target{.url = std::move(*url), .headers = std::move(*headers), .client = {}};
    target.client.connect_timeout = kOneTry;
    target.client.io_timeout = kOneTry;
    target.client.max_body_bytes = std::size_t{64} << 10;
    target.client.server_name = target.url.host;
    target.client.host_header = target.url.host_field();
    if (target.url.tls) {
        net::TlsContext::Options tls{.role = net::TlsContext::Role::kClient,
                                     .peer_check = net::TlsContext::PeerCheck::kChainAndName};
        tls.ca.file = options.ca;
        auto made = net::TlsContext::make(std::move(tls));
        if (!made) return fail(std::move(made.error()));
        target.client.tls = std::move(*made);
    }
    return target;
}

TraceExporter::TraceExporter(TraceTarget target, std::string version, const Clock& clock)
    : target_(std::move(target)),
      version_(std::move(version)),
      clock_(clock),
      filled_(clock.steady_now()),
      client_(endpoint_of(target_.url), target_.client),
      thread_([this] { work(); }) {}

TraceExporter::~TraceExporter() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void TraceExporter::set_sampling(const SpanSampling& sampling) {
    const std::scoped_lock lock(mutex_);
    sampling_ = sampling;
    share_.set(sampling.share);
}

bool TraceExporter::takes(std::string_view trace_id, bool failed,
                          std::chrono::nanoseconds took) const {
    const std::scoped_lock lock(mutex_);
    return sampling_.takes(trace_id, failed, took);
}

TraceExporter::Counts TraceExporter::counts() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
}

bool TraceExporter::may_read() {
    const SteadyTime now = clock_.steady_now();
    const double passed = std::chrono::duration<double>(now - filled_).count();
    filled_ = now;
    allowed_ = std::min(kReadPerSecond, allowed_ + passed * kReadPerSecond);
    if (allowed_ < 1) return false;
    --allowed_;
    return true;
}

void TraceExporter::on_batch(const core::AuditBatch& batch) {
    for (std::string_view rest = batch.records; !rest.empty();) {
        const std::scoped_lock lock(mutex_);  // of each record: a turn that ends waits for one
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (!may_read())
            ++counts_.dropped;
        else if (auto spans = spans_.of(rest.substr(0, end), sampling_))
            keep(std::move(*spans));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

void TraceExporter::on_turn(const agent::TracedTurn& turn) {
    SpanSampling sampling;
    {
        const std::scoped_lock lock(mutex_);
        sampling = sampling_;
    }
    auto spans = turn_spans(turn, sampling);
    if (!spans) return;
    const std::scoped_lock lock(mutex_);
    keep(std::move(*spans));
}

void TraceExporter::keep(CallSpans spans) {
    if (kept_spans_ + spans.count > kMostKept) {
        counts_.dropped += spans.count;
        return;
    }
    kept_spans_ += spans.count;
    kept_.push_back(std::move(spans));
    if (kept_.size() == 1 || kept_spans_ >= kMostSent) changed_.notify_all();
}

void TraceExporter::work() {
    for (Request request; next(request); request.clear()) send(request);
}

/// What is sent next; false at the end, when nothing is left.
bool TraceExporter::next(Request& request) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !kept_.empty(); });
    changed_.wait_for(lock, kTogether, [this] { return stopping_ || kept_spans_ >= kMostSent; });
    // A collector that hangs holds the end of the gateway for one request at most.
    if (stopping_ && std::exchange(last_, true)) {
        counts_.dropped += kept_spans_;
        return false;
    }
    std::size_t spans = 0;
    while (!kept_.empty() && (spans == 0 || spans + kept_.front().count <= kMostSent)) {
        spans += kept_.front().count;
        request.push_back(std::move(kept_.front()));
        kept_.pop_front();
    }
    kept_spans_ -= spans;
    return !request.empty();
}

void TraceExporter::send(const Request& request) {
    const std::string body = otlp_request(request, "crab", version_);
    std::uint64_t spans = 0;
    for (const CallSpans& each : request) spans += each.count;
    Milliseconds pause = kPause.first;
    Answer answer = post(body, pause);
    for (int tries = 1; answer == Answer::kTryAgain && tries < kTries && wait(pause);) {
        // what one answer asks for is for the try after it alone
        pause = kPause.after(static_cast<std::uint64_t>(++tries));
        answer = post(body, pause);
    }
    const std::scoped_lock lock(mutex_);
    auto& count = answer == Answer::kTaken     ? counts_.sent
                  : answer == Answer::kRefused ? counts_.refused
                                               : counts_.dropped;
    count += spans;
}

/// Sets `pause` if the collector asks for one.
TraceExporter::Answer TraceExporter::post(const std::string& body, Milliseconds& pause) {
    net::ClientRequest request{.method = "POST", .target = target_.url.target(), .headers = {}};
    request.headers = target_.headers;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = body;
    const auto answer = client_.send(request, std::chrono::steady_clock::now() + kOneTry);
    if (!answer) {
        client_.close();
        tell(false, answer.error().message);
        return Answer::kTryAgain;
    }
    const int status = answer->status;
    if (status >= 200 && status < 300) {
        tell(true, {});
        return Answer::kTaken;
    }
    tell(false, fmt::format("it answers {}", status));
    if (status != 429 && status != 502 && status != 503 && status != 504) return Answer::kRefused;
    if (const auto text = answer->find("retry-after")) {
        const auto date = answer->find("date").value_or("");
        if (const auto asked = net::parse_retry_after(*text, date, clock_.system_now()))
            pause = std::min(*asked, kPause.longest);
    }
    return Answer::kTryAgain;
}

/// False when the exporter stops: then nothing is tried again.
bool TraceExporter::wait(Milliseconds pause) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, pause, [this] { return stopping_; });
}

void TraceExporter::tell(bool works, std::string_view reason) {
    if (works == std::exchange(works_, works)) return;
    if (works)
        log::info("the collector of traces takes spans again");
    else
        log::warn("spans cannot be sent to the collector", {{"reason", reason}});
}

std::span<const ConfigKey> TraceExport::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("tracing.otlp", [](auto& c) -> auto& { return c.tracing.otlp; }),
        restart_key("tracing.headers_file",
                    [](auto& c) -> auto& { return c.tracing.headers_file; }),
        restart_key("tracing.allow_plain", [](auto& c) -> auto& { return c.tracing.allow_plain; }),
        restart_key("tracing.ca", [](auto& c) -> auto& { return c.tracing.ca; }),
        reload_key("tracing.sample", [](auto& c) -> auto& { return c.tracing.sample; }),
        reload_key("tracing.always", [](auto& c) -> auto& { return c.tracing.always; })};
    return kKeys;
}

Result<void> TraceExport::start() {
    const auto sampling = sampling_of(context_.config.tracing);
    if (!sampling) return fail(sampling.error());
    auto target = TraceTarget::read(context_.config.tracing);
    if (!target) return fail(std::move(target.error()));
    if (!*target) return {};
    exporter_ = std::make_shared<TraceExporter>(std::move(**target), std::string(version()),
                                                context_.clock);
    exporter_->set_sampling(*sampling);
    audit_.log().show_to(exporter_);
    return {};
}

Result<Component::Change> TraceExport::prepare(const config::GatewayConfig& next) {
    auto sampling = sampling_of(next.tracing);
    if (!sampling) return fail(std::move(sampling.error()));
    return [this, sampling = *sampling] {
        if (exporter_) exporter_->set_sampling(sampling);
    };
}

bool TraceExport::keeps(const core::FinishedCall& call, std::string_view trace_id) const {
    if (exporter_)
        return exporter_->takes(trace_id, call.failed(),
                                std::chrono::microseconds(call.duration_us));
    // The last bit of the flags: its caller has sampled it (W3C Trace Context, section 3.2.2.5).
    constexpr std::string_view kOdd = "13579bdf";
    return core::parse_traceparent(call.traceparent) && kOdd.contains(call.traceparent.back());
}

void TraceExport::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        if (!exporter_) return;
        const TraceExporter::Counts counts = exporter_->counts();
        out +=
            "# HELP crab_otlp_spans_total Spans for the collector of traces, by what became of "
            "them.\n# TYPE crab_otlp_spans_total counter\n";
        for (const auto& [result, count] :
             {std::pair("sent", counts.sent), std::pair("dropped", counts.dropped),
              std::pair("refused", counts.refused)})
            out += fmt::format("crab_otlp_spans_total{{result=\"{}\"}} {}\n", result, count);
    });
}

}  // namespace crab::gateway
