#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/content_lines.hpp"
#include "bridge/built_in/evolution_data.hpp"
#include "bridge/built_in/json_members.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

using json::Value;

/// `20261121T093000Z`.
std::string to_basic_time(SystemTime time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                       utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/// Midnight UTC of `2026-11-21`. Errors: kInvalidArgs for what is no day.
Result<SystemTime> parse_day(const std::string& text) {
    int year = 0;
    unsigned month = 0, day = 0;
    char rest = 0;
    const bool read = std::sscanf(text.c_str(), "%4d-%2u-%2u%c", &year, &month, &day, &rest) == 3;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    if (!read || !date.ok())
        return fail(ErrorCode::kInvalidArgs, "/from: write a day such as 2026-11-21");
    return std::chrono::sys_days(date);
}

class Calendar final : public Adapter {
public:
    explicit Calendar(const Sources& sources)
        : clock_(sources.loop.clock()), data_(sources, EvolutionData::Kind::kEvents) {}

    Task<Result<void>> check(Deadline deadline) override { return data_.check(deadline); }

    Task<Result<Value>> run(const std::string& tool, const Value& args,
                            Deadline deadline) override {
        if (tool == "calendars") co_return co_await calendars(deadline);
        co_return co_await events(args, deadline);
    }

private:
    Task<Result<Value>> calendars(Deadline deadline) {
        const auto found = co_await data_.collections(deadline);
        if (!found) co_return fail(found.error());
        Value names = Value::array();
        for (const auto& calendar : *found) names.push_back(calendar.name);
        co_return Value::object({{"calendars", std::move(names)}});
    }

    Task<Result<Value>> events(const Value& args, Deadline deadline) {
        const std::string day = text_in(args, "from");
        const Result<SystemTime> from = day.empty() ? clock_.system_now() : parse_day(day);
        if (!from) co_return fail(from.error());
        const SystemTime to = *from + std::chrono::days(integer_in(args, "days", 7));
        std::string expression =
            fmt::format("(occur-in-time-range? (make-time \"{}\") (make-time \"{}\"))",
                        to_basic_time(*from), to_basic_time(to));
        const auto found = co_await data_.query(std::move(expression), deadline);
        if (!found) co_return fail(found.error());
        Value::Items events;
        for (const auto& calendar : *found) {
            for (const std::string& component : calendar.items)
                events.push_back(describe(component, calendar.collection));
        }
        std::ranges::sort(events, {}, [](const Value& event) { return text_in(event, "start"); });
        co_return Value::object({{"events", Value::array(std::move(events))}});
    }

    static Value describe(std::string_view component, const std::string& calendar) {
        Value event = Value::object();
        int depth = 0;
        for (const ContentLine& line : parse_content_lines(component)) {
            if (line.name == "END") --depth;
            if (line.name == "BEGIN") ++depth;
            if (depth != 1) continue;  // alarms inside have summaries of their own
            if (line.name == "SUMMARY") event.set("summary", line.text());
            if (line.name == "DTSTART") {
                event.set("start", to_readable_time(line.value));
                if (const std::string zone = line.parameter("TZID"); !zone.empty())
                    event.set("timezone", zone_name(zone));
            }
            if (line.name == "DTEND") event.set("end", to_readable_time(line.value));
            if (line.name == "LOCATION" && !line.value.empty()) event.set("location", line.text());
            if (line.name == "DESCRIPTION" && !line.value.empty())
                event.set("description", line.text());
            if (line.name == "STATUS") event.set("status", line.value);
            if (line.name == "RRULE") event.set("repeats", line.value);
        }
        event.set("calendar", calendar);
        return event;
    }

    /// Zones come as `/freeassociation.sourceforge.net/Europe/Berlin`: what counts are the last two
    /// parts.
    static std::string zone_name(std::string_view id) {
        const std::size_t last = id.rfind('/');
        if (!id.starts_with('/') || last == 0) return std::string(id);
        const std::size_t before = id.rfind('/', last - 1);
        return std::string(id.substr(before == 0 ? last + 1 : before + 1));
    }

    const Clock& clock_;
    EvolutionData data_;
};

constexpr std::string_view kEventsSchema =
    R"({"type":"object","properties":{)"
    R"("from":{"type":"string","description":"The first day, such as 2026-11-21,)"
    R"( from midnight UTC; without it from now"},)"
    R"("days":{"type":"integer","minimum":1,"maximum":366,)"
    R"("description":"How many days; default 7"}},"additionalProperties":false})";

}  // namespace

AdapterInfo calendar_adapter() {
    return {.label = "calendar",
            .name = "Calendar",
            .reads = "Evolution Data Server",
            .on = false,
            .tools = {{"events",
                       "Events in the calendars of this person; one that repeats is given once, "
                       "with its rule and its first start",
                       std::string(kEventsSchema)},
                      {"calendars", "Which calendars there are", std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Calendar>(sources);
            }};
}

}  // namespace crab::bridge
