#pragma once

#include "base/counter.hpp"
#include "base/error_code.hpp"
#include "base/ordered_mutex.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

using crab::Counter;

/// One event loop's counters of calls.
struct CallMetrics {
    static constexpr std::size_t kSources = 6;
    static constexpr std::size_t kStatuses = 6;
    static constexpr std::array<double, 14> kBounds{
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5, 30, 120};

    /// Counts a call that has ended; `duration` is from its arrival.
    void count(SourceKind source, Status status, std::chrono::nanoseconds duration,
               std::size_t args_bytes, std::size_t result_bytes);
    /// Counts the code with which a call has failed.
    void count_error(ErrorCode code) { errors[static_cast<std::size_t>(code)].add(); }

    struct Durations {
        std::array<Counter, kBounds.size() + 1> counts;
        Counter ns;
    };
    std::array<std::array<Counter, kStatuses>, kSources> calls;
    std::array<Durations, kSources> durations;
    std::array<Counter, static_cast<std::size_t>(ErrorCode::kInternal) + 1> errors;
    Counter args_bytes, result_bytes, refused, retries, replays;
};

/// A call that stands for others of about its duration: its trace shows where such calls spend
/// their time.
struct Exemplar {
    std::string trace_id;
    double seconds = 0;  ///< from arrival to answer
    double at = 0;       ///< when it had ended: seconds since 1970
};
/// The latest of every kind of source and bucket of `crab_call_duration_seconds`.
using CallExemplars =
    std::array<std::array<std::optional<Exemplar>, CallMetrics::kBounds.size() + 1>,
               CallMetrics::kSources>;

/// In which form metrics are served.
enum class MetricsForm : std::uint8_t {
    kPrometheus,   ///< Prometheus' text, exposition format 0.0.4
    kOpenMetrics,  ///< OpenMetrics 1.0, which has exemplars
};

/// All metrics of the process. Writers register once, at start; they write Prometheus' text, which
/// is what OpenMetrics is made of.
class MetricsPage {
public:
    /// Adds a writer of lines, called from any thread when the page is rendered.
    void add(std::function<void(std::string& out)> writer);
    void add(const CallMetrics& metrics);
    /// Asks for the exemplars of calls, from any thread.
    void set_exemplars(std::function<CallExemplars()> exemplars);
    std::string text(MetricsForm form = MetricsForm::kPrometheus) const;

private:
    template <class Pick>
    std::uint64_t sum(Pick pick) const;
    void append_calls(std::string& out) const;
    void append_durations(std::string& out, const CallExemplars& exemplars) const;
    void append_errors(std::string& out) const;

    mutable OrderedMutex<LockRank::kMetricsPage> mutex_;
    std::vector<std::function<void(std::string&)>> writers_;
    std::vector<const CallMetrics*> calls_;
    std::function<CallExemplars()> exemplars_;
};

/// `# HELP`, `# TYPE` and one sample.
void append_metric(std::string& out, std::string_view name, std::string_view type,
                   std::string_view help, double value);

}  // namespace crab::core
