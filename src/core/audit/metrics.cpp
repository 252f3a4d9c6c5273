#include "core/audit/metrics.hpp"

#include "core/audit/open_metrics.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::array kSourceKinds{SourceKind::kBuiltIn, SourceKind::kDevice,
                                  SourceKind::kPeer,    SourceKind::kProvider,
                                  SourceKind::kCommand, SourceKind::kMcpServer};
/// ` # {trace_id="…"} <value> <time>`, after a sample of a bucket.
void append_exemplar(std::string& out, const std::optional<Exemplar>& exemplar) {
    if (!exemplar) return;
    fmt::format_to(std::back_inserter(out), R"( # {{trace_id="{}"}} {} {:.3f})", exemplar->trace_id,
                   exemplar->seconds, exemplar->at);
}

constexpr std::array kStatusNames{Status::kOk,      Status::kError,     Status::kRetryableError,
                                  Status::kTimeout, Status::kCancelled, Status::kUnknown};

}  // namespace

void CallMetrics::count(SourceKind source, Status status, std::chrono::nanoseconds duration,
                        std::size_t in, std::size_t out) {
    calls[static_cast<std::size_t>(source)][static_cast<std::size_t>(status)].add();
    const double seconds = std::chrono::duration<double>(duration).count();
    Durations& of_source = durations[static_cast<std::size_t>(source)];
    of_source
        .counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) -
                                         kBounds.begin())]
        .add();
    of_source.ns.add(static_cast<std::uint64_t>(duration.count()));
    args_bytes.add(in);
    result_bytes.add(out);
}

void append_metric(std::string& out, std::string_view name, std::string_view type,
                   std::string_view help, double value) {
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type,
                   help, value);
}

void MetricsPage::add(std::function<void(std::string&)> writer) {
    const std::scoped_lock lock(mutex_);
    writers_.push_back(std::move(writer));
}

void MetricsPage::add(const CallMetrics& metrics) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(&metrics);
}

void MetricsPage::set_exemplars(std::function<CallExemplars()> exemplars) {
    const std::scoped_lock lock(mutex_);
    exemplars_ = std::move(exemplars);
}

/// Over all loops.
template <class Pick>
std::uint64_t MetricsPage::sum(Pick pick) const {
    std::uint64_t total = 0;
    for (const CallMetrics* metrics : calls_) total += pick(*metrics).value();
    return total;
}

void MetricsPage::append_calls(std::string& out) const {
    const auto line = std::back_inserter(out);
    fmt::format_to(line,
                   "# HELP crab_calls_total Calls that have ended, by kind of source and "
                   "status.\n# TYPE crab_calls_total counter\n");
    for (const SourceKind source : kSourceKinds) {
        for (const Status status : kStatusNames) {
            const auto total = sum([&](const CallMetrics& m) -> const Counter& {
                return m.calls[static_cast<std::size_t>(source)][static_cast<std::size_t>(status)];
            });
            if (total > 0)
                fmt::format_to(line, "crab_calls_total{{source=\"{}\",status=\"{}\"}} {}\n",
                               name_of(source), name_of(status), total);
        }
    }
}

void MetricsPage::append_durations(std::string& out, const CallExemplars& exemplars) const {
    constexpr std::string_view kName = "crab_call_duration_seconds";
    constexpr auto& kBounds = CallMetrics::kBounds;
    const auto line = std::back_inserter(out);
    fmt::format_to(line,
                   "# HELP {0} From arrival to answer, by kind of source.\n# TYPE {0} histogram\n",
                   kName);
    for (const SourceKind source : kSourceKinds) {
        const auto of_source = [&](const CallMetrics& m) -> const CallMetrics::Durations& {
            return m.durations[static_cast<std::size_t>(source)];
        };
        std::array<std::uint64_t, kBounds.size() + 1> counts{};
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            counts[i] = sum([&](const CallMetrics& m) -> auto& { return of_source(m).counts[i]; });
            total += counts[i];
        }
        if (total == 0) continue;
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            below += counts[i];
            const std::string bound =
                i < kBounds.size() ? fmt::format("{:#}", kBounds[i]) : std::string("+Inf");
            fmt::format_to(line, "{}_bucket{{source=\"{}\",le=\"{}\"}} {}", kName, name_of(source),
                           bound, below);
            append_exemplar(out, exemplars[static_cast<std::size_t>(source)][i]);
            out += '\n';
        }
        const auto ns = sum([&](const CallMetrics& m) -> auto& { return of_source(m).ns; });
        fmt::format_to(line, "{0}_sum{{source=\"{1}\"}} {2}\n{0}_count{{source=\"{1}\"}} {3}\n",
                       kName, name_of(source), static_cast<double>(ns) / 1e9, total);
    }
}

void MetricsPage::append_errors(std::string& out) const {
    constexpr std::string_view kName = "crab_call_errors_total";
    const auto line = std::back_inserter(out);
    fmt::format_to(line, "# HELP {0} Calls that have failed, by code.\n# TYPE {0} counter\n",
                   kName);
    for (const ErrorCode code : all_error_codes()) {
        const auto total = sum([&](const CallMetrics& m) -> auto& {
            return m.errors[static_cast<std::size_t>(code)];
        });
        if (total > 0) fmt::format_to(line, "{}{{code=\"{}\"}} {}\n", kName, token_of(code), total);
    }
}

std::string MetricsPage::text(MetricsForm form) const {
    const std::scoped_lock lock(mutex_);
    const bool with_exemplars = form == MetricsForm::kOpenMetrics && exemplars_;
    std::string out;
    append_calls(out);
    append_durations(out, with_exemplars ? exemplars_() : CallExemplars());
    append_errors(out);
    const auto counter = [&](std::string_view name, std::string_view help, auto&& pick) {
        append_metric(out, name, "counter", help, static_cast<double>(sum(pick)));
    };
    counter("crab_call_args_bytes_total", "Bytes of arguments received.",
            [](const CallMetrics& m) -> const Counter& { return m.args_bytes; });
    counter("crab_call_result_bytes_total", "Bytes of results given.",
            [](const CallMetrics& m) -> const Counter& { return m.result_bytes; });
    counter("crab_calls_refused_total", "Calls that ended before dispatch.",
            [](const CallMetrics& m) -> const Counter& { return m.refused; });
    counter("crab_call_retries_total", "Attempts beyond the first.",
            [](const CallMetrics& m) -> const Counter& { return m.retries; });
    counter("crab_calls_replayed_total", "Calls answered from the ledger.",
            [](const CallMetrics& m) -> const Counter& { return m.replays; });
    for (const auto& writer : writers_) writer(out);
    return form == MetricsForm::kOpenMetrics ? to_open_metrics(out) : out;
}

}  // namespace crab::core
