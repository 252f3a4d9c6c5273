#include "core/live/latest_traces.hpp"

#include "core/call/call_span.hpp"

#include <algorithm>

namespace crab::core {
namespace {

constexpr Milliseconds kAfterOne{1'000}, kAfterNone{10};

}  // namespace

void LatestTraces::add(const FinishedCall& call, const Clock& clock) {
    if (!is_kept_) return;
    // As the histogram has it, which knows no source of a call whose tool there was not.
    const auto kind = kind_of_source(call.source).value_or(SourceKind::kBuiltIn);
    const double seconds = static_cast<double>(call.duration_us) / 1e6;
    const auto bucket = static_cast<std::size_t>(
        std::ranges::lower_bound(CallMetrics::kBounds, seconds) - CallMetrics::kBounds.begin());
    SteadyTime& next = next_[static_cast<std::size_t>(kind)][bucket];
    const SteadyTime now = clock.steady_now();
    if (now < next) return;
    std::string trace_id = trace_id_of({.call_id = call.call_id,
                                        .time = call.time,
                                        .trace_id = call.trace_id,
                                        .traceparent = call.traceparent});
    const bool kept = is_kept_(call, trace_id);
    next = now + (kept ? kAfterOne : kAfterNone);
    if (!kept) return;
    const double at = std::chrono::duration<double>(clock.system_now().time_since_epoch()).count();
    latest_[static_cast<std::size_t>(kind)][bucket] =
        Exemplar{.trace_id = std::move(trace_id), .seconds = seconds, .at = at};
}

}  // namespace crab::core
