#pragma once

#include <string>
#include <string_view>

namespace crab::bench {

// What every benchmarked call carries: eight arguments of the usual kinds, and a result, 300 bytes
// each.
inline constexpr std::string_view kArguments =
    R"({"room":"living room, first floor","target_celsius":21.5,"mode":"schedule","days":["mon",)"
    R"("tue","wed","thu","fri"],)"
    R"("start_minute":405,"notify":true,"labels":{"owner":"household","origin":"evening routine"},)"
    R"("note":"Warm the room before everybody gets up,)"
    R"( unless a window is open or nobody is at home."})";
inline constexpr std::string_view kResult =
    R"({"applied":true,"room":"living room, first floor","current_celsius":18.25,)"
    R"("valve_percent":64,)"
    R"("next_change":"2031-03-04T06:45:00Z","warnings":["window sensor is low on battery",)"
    R"("schedule overlaps with holiday mode"],)"
    R"("summary":"Heating starts at 06:45 and reaches 21.5 degrees around 07:20 on Monday."})";
static_assert(kArguments.size() == 300 && kResult.size() == 300);

/// The schema that kArguments is checked against on every call.
inline constexpr std::string_view kParameters =
    R"({"type":"object","properties":{"room":{"type":"string","minLength":1,"maxLength":64},)"
    R"("target_celsius":{"type":"number","minimum":5,"maximum":30},"mode":{"type":"string",)"
    R"("enum":["off","manual","schedule"]},)"
    R"("days":{"type":"array","maxItems":7,"items":{"type":"string","enum":["mon","tue","wed",)"
    R"("thu","fri","sat","sun"]}},)"
    R"("start_minute":{"type":"integer","minimum":0,"maximum":1439},"notify":{"type":"boolean"},)"
    R"("labels":{"type":"object","additionalProperties":{"type":"string","maxLength":64}},)"
    R"("note":{"type":"string","maxLength":500}},)"
    R"("required":["room","target_celsius","mode"],"additionalProperties":false})";

/// The frame that offers the tool `name`.
inline std::string register_tools(const std::string& name) {
    return R"({"type":"register_tools","tools":[{"name":")" + name +
           R"(","description":"Sets the heating of one room and says what will happen.",)"
           R"("parameters":)" +
           std::string(kParameters) + "}]}";
}

/// The name of the tool that device number `device` of `devices` offers: plain with one device,
/// numbered with several, so that no name is offered twice.
inline std::string tool_name(std::size_t device, std::size_t devices) {
    return devices == 1 ? "echo" : "echo" + std::to_string(device);
}

}  // namespace crab::bench
