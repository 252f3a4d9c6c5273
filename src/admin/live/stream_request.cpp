#include "admin/live/stream_request.hpp"

#include "admin/query_number.hpp"
#include "core/live/call_sampler.hpp"
#include "net/codec/url.hpp"

#include <array>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::admin {
namespace {

constexpr std::array kAll{Topic::kStatus, Topic::kCalls,    Topic::kRunning, Topic::kDevice,
                          Topic::kTools,  Topic::kQuestion, Topic::kPairing, Topic::kEvent};
static_assert(kAll.size() == kTopics);

Result<std::bitset<kTopics>> parse_topics(std::string_view text) {
    std::bitset<kTopics> found;
    for (const auto part : std::views::split(text, ',')) {
        const std::string_view name(part);
        const auto* const topic =
            std::ranges::find_if(kAll, [&](Topic each) { return name_of(each) == name; });
        if (topic == kAll.end())
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("topics are {}",
                                    fmt::join(std::views::transform(
                                                  kAll, [](Topic each) { return name_of(each); }),
                                              ", ")));
        found.set(static_cast<std::size_t>(*topic));
    }
    return found;
}

}  // namespace

std::string_view name_of(Topic topic) {
    switch (topic) {
        case Topic::kStatus: return "status";
        case Topic::kCalls: return "calls";
        case Topic::kRunning: return "running";
        case Topic::kDevice: return "device";
        case Topic::kTools: return "tools";
        case Topic::kQuestion: return "question";
        case Topic::kPairing: return "pairing";
        case Topic::kEvent: return "event";
    }
    return {};
}

Result<StreamRequest> StreamRequest::parse(std::string_view query, SystemTime now) {
    constexpr std::size_t kMostRate = core::CallSampler::kMostRate;
    StreamRequest request;
    request.topics.set();
    if (const auto topics = net::find_query(query, "topics"); topics && !topics->empty()) {
        auto parsed = parse_topics(*topics);
        if (!parsed) return fail(std::move(parsed.error()));
        request.topics = *parsed;
    }
    const auto rate = number_in(query, "rate", request.rate);
    if (!rate || *rate > kMostRate)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("rate is a whole number of rows a second, at most {}", kMostRate));
    request.rate = *rate;
    auto filter = core::CallFilter::parse(net::find_query(query, "filter").value_or(""), now);
    if (!filter) return fail(std::move(filter.error()));
    request.filter = std::move(*filter);
    const std::string attend = net::find_query(query, "attend").value_or("false");
    if (attend != "true" && attend != "false")
        return fail(ErrorCode::kInvalidArgs, "attend is true or false");
    request.attends = attend == "true";
    return request;
}

}  // namespace crab::admin
