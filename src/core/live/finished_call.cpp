#include "core/live/finished_call.hpp"

#include "json/element.hpp"

#include <algorithm>
#include <utility>

namespace crab::core {
namespace {

using Text = std::string_view FinishedCall::*;
constexpr std::array<std::pair<std::string_view, Text>, 13> kTexts{
    {{"call_id", &FinishedCall::call_id},
     {"time", &FinishedCall::time},
     {"front", &FinishedCall::front},
     {"principal", &FinishedCall::principal},
     {"agent", &FinishedCall::agent},
     {"session", &FinishedCall::session},
     {"trace_id", &FinishedCall::trace_id},
     {"traceparent", &FinishedCall::traceparent},
     {"tool", &FinishedCall::tool},
     {"source", &FinishedCall::source},
     {"rule", &FinishedCall::rule},
     {"code", &FinishedCall::code},
     {"message", &FinishedCall::message}}};

std::optional<Status> find_status(std::string_view name) {
    for (std::size_t i = 0; i < kCallStatuses; ++i)
        if (name_of(static_cast<Status>(i)) == name) return static_cast<Status>(i);
    return std::nullopt;
}

/// The offsets of a timeline as what each stage took.
void take_stages(FinishedCall& call, json::Object timeline) {
    std::array<std::int64_t, kStages> offsets{};
    offsets.fill(-1);
    for (const auto [name, value] : timeline) {
        for (std::size_t i = 1; i + 1 < kStages; ++i) {
            if (name_of(static_cast<Stage>(i)) != name) continue;
            std::int64_t us = 0;
            if (value.get(us) == simdjson::SUCCESS) offsets[i] = us;
        }
    }
    offsets[kStages - 1] = call.duration_us;
    std::int64_t before = 0;
    for (std::size_t i = 1; i < kStages; ++i) {
        if (offsets[i] < 0) continue;
        call.stage_us[i] = std::max<std::int64_t>(0, offsets[i] - before);
        before = std::max(before, offsets[i]);
    }
}

}  // namespace

std::optional<FinishedCall> parse_finished_call(std::string_view record, json::Parser& parser) {
    if (!record.starts_with(R"({"call_id":)")) return std::nullopt;
    const auto root = parser.parse(record);
    json::Object members;
    if (!root || root->element().get(members) != simdjson::SUCCESS) return std::nullopt;
    FinishedCall call{.record = record};
    call.stage_us.fill(-1);
    std::optional<Status> status;
    std::optional<json::Object> timeline;
    bool ended = false;
    for (const auto [name, value] : members) {
        if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
            if (name == "status") status = find_status(text);
            const auto known =
                std::ranges::find(kTexts, name, &decltype(kTexts)::value_type::first);
            if (known != kTexts.end()) call.*known->second = text;
        } else if (name == "duration_us") {
            ended = value.get(call.duration_us) == simdjson::SUCCESS;
        } else if (name == "timeline") {
            json::Object offsets;
            if (value.get(offsets) == simdjson::SUCCESS) timeline = offsets;
        }
    }
    if (!ended || !status) return std::nullopt;
    call.status = *status;
    if (timeline) take_stages(call, *timeline);
    return call;
}

}  // namespace crab::core
