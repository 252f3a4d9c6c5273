#include "core/audit/metrics.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::array kSourceKinds{SourceKind::kBuiltIn, SourceKind::kDevice,
                                  SourceKind::kPeer,    SourceKind::kProvider,
                                  SourceKind::kCommand, SourceKind::kMcpServer};
constexpr std::array kStatusNames{Status::kOk,      Status::kError,     Status::kRetryableError,
                                  Status::kTimeout, Status::kCancelled, Status::kUnknown};

}  // namespace

void CallMetrics::count(SourceKind source, Status status, std::chrono::nanoseconds duration,
                        std::size_t in, std::size_t out) {
    calls[static_cast<std::size_t>(source)][static_cast<std::size_t>(status)].add();
    const double seconds = std::chrono::duration<double>(duration).count();
    durations[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) -
                                       kBounds.begin())]
        .add();
    duration_ns.add(static_cast<std::uint64_t>(duration.count()));
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

std::string MetricsPage::text() const {
    const std::scoped_lock lock(mutex_);
    std::string out;
    const auto sum = [&](auto&& pick) {
        std::uint64_t total = 0;
        for (const CallMetrics* metrics : calls_) total += pick(*metrics).value();
        return total;
    };
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
    fmt::format_to(line,
                   "# HELP crab_call_duration_seconds From arrival to answer.\n# TYPE "
                   "crab_call_duration_seconds histogram\n");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < CallMetrics::kBounds.size() + 1; ++i) {
        below += sum([&](const CallMetrics& m) -> const Counter& { return m.durations[i]; });
        const std::string bound =
            i < CallMetrics::kBounds.size() ? fmt::format("{}", CallMetrics::kBounds[i]) : "+Inf";
        fmt::format_to(line, "crab_call_duration_seconds_bucket{{le=\"{}\"}} {}\n", bound, below);
    }
    const auto nanoseconds =
        sum([](const CallMetrics& m) -> const Counter& { return m.duration_ns; });
    fmt::format_to(line, "crab_call_duration_seconds_sum {}\ncrab_call_duration_seconds_count {}\n",
                   static_cast<double>(nanoseconds) / 1e9, below);
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
    return out;
}

}  // namespace crab::core
