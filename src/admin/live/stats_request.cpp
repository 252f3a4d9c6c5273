#include "admin/live/stats_request.hpp"

#include "admin/query_number.hpp"
#include "base/duration_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::admin {
namespace {

constexpr std::array<std::string_view, 5> kNames{"calls", "errors", "p50_us", "p95_us", "p99_us"};

Result<std::int64_t> parse_window(std::string_view query, std::int64_t missing) {
    const auto text = net::find_query(query, "window");
    if (!text) return missing;
    const auto window = parse_duration(*text);
    const auto minutes = window ? std::chrono::ceil<std::chrono::minutes>(*window).count() : 0;
    if (minutes < 1 || minutes > core::CallStats::kMinutes)
        return fail(ErrorCode::kInvalidArgs, "window is a duration such as 15m, 1h at most");
    return minutes;
}

std::int64_t value_of(std::string_view name, const core::CallStats::Totals& totals) {
    if (name == "calls") return static_cast<std::int64_t>(totals.calls);
    if (name == "errors") return static_cast<std::int64_t>(totals.errors);
    if (name == "p50_us") return totals.latency.percentile(0.5);
    if (name == "p95_us") return totals.latency.percentile(0.95);
    return totals.latency.percentile(0.99);
}

}  // namespace

Result<StatsRequest> StatsRequest::parse(std::string_view query) {
    StatsRequest request;
    const auto minutes = parse_window(query, request.minutes);
    if (!minutes) return fail(minutes.error());
    request.minutes = *minutes;
    if (const auto name = net::find_query(query, "by")) {
        const auto by = core::CallStats::find_by(*name);
        if (!by) return fail(ErrorCode::kInvalidArgs, "by is tool, principal or source");
        request.by = *by;
    }
    const auto limit = number_in(query, "limit", request.limit);
    if (!limit) return fail(ErrorCode::kInvalidArgs, "limit is a whole number");
    request.limit = std::min(*limit, kMostRows);
    return request;
}

Result<SeriesRequest> SeriesRequest::parse(std::string_view query) {
    SeriesRequest request;
    const auto minutes = parse_window(query, request.minutes);
    if (!minutes) return fail(minutes.error());
    request.minutes = *minutes;
    const auto names = net::find_query(query, "names");
    if (!names || names->empty()) {
        request.names.assign(kNames.begin(), kNames.end());
        return request;
    }
    for (const auto part : std::views::split(*names, ',')) {
        const auto* const known = std::ranges::find(kNames, std::string_view(part));
        if (known == kNames.end())
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("names are {}", fmt::join(kNames, ", ")));
        if (std::ranges::find(request.names, *known) == request.names.end())
            request.names.push_back(*known);
    }
    return request;
}

CallSeries::CallSeries(const SeriesRequest& request, SystemTime now)
    : request_(request),
      last_(std::chrono::floor<std::chrono::minutes>(now.time_since_epoch()).count()) {
    for (const std::string_view name : request_.names) {
        auto& values = values_.emplace_back(static_cast<std::size_t>(request_.minutes));
        if (!name.starts_with('p')) std::ranges::fill(values, 0);
    }
}

void CallSeries::take(std::int64_t minutes_ago, const core::CallStats::Totals& totals) {
    const std::int64_t place = request_.minutes - 1 - minutes_ago;
    if (place < 0 || place >= request_.minutes) return;
    for (std::size_t i = 0; i < values_.size(); ++i)
        values_[i][static_cast<std::size_t>(place)] = value_of(request_.names[i], totals);
}

void CallSeries::write(json::Writer& writer) const {
    writer.begin_object().key("t").begin_array();
    for (std::int64_t i = 0; i < request_.minutes; ++i)
        writer.integer((last_ - request_.minutes + 1 + i) * 60);
    writer.end_array().key("series").begin_object();
    for (std::size_t i = 0; i < values_.size(); ++i) {
        writer.key(request_.names[i]).begin_array();
        for (const auto& value : values_[i]) value ? writer.integer(*value) : writer.null();
        writer.end_array();
    }
    writer.end_object().end_object();
}

}  // namespace crab::admin
