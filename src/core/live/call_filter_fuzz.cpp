// Any bytes as a filter: read or refused, with bounded parts, and the same every time. Half of the
// input is the filter, half is what the filter is applied to.

#include "base/fuzz_check.hpp"
#include "core/live/call_filter.hpp"

using namespace crab::core;
using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const crab::SystemTime now{std::chrono::seconds(1'790'000'000)};
    const std::string_view written = text.substr(0, size / 2), value = text.substr(size / 2, 4096);
    const auto filter = CallFilter::parse(written, now);
    if (!filter) {
        require(filter.error().code == crab::ErrorCode::kInvalidArgs);
        return 0;
    }
    require(written.size() <= CallFilter::kMostBytes);
    FinishedCall call{.record = value,
                      .time = "2026-09-21T14:13:20.000Z",
                      .principal = "caller/ci",
                      .tool = value,
                      .message = value,
                      .duration_us = static_cast<std::int64_t>(size)};
    const bool fits = filter->matches(call);
    require(!filter->empty() || fits, "an empty filter takes every call");
    const auto again = CallFilter::parse(written, now);
    require(again.has_value() && again->matches(call) == fits);
    return 0;
}
