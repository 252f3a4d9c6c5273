#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kTimedate = "org.freedesktop.timedate1";
constexpr const char* kLocale = "org.freedesktop.locale1";

/// RFC 3339 with the machine's own offset from UTC, in seconds.
std::string to_local(SystemTime time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm local{};
    ::tzset();  // the person may have travelled
    ::localtime_r(&seconds, &local);
    const long minutes = local.tm_gmtoff / 60;
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}", local.tm_year + 1900,
                       local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                       minutes < 0 ? '-' : '+', std::abs(minutes) / 60, std::abs(minutes) % 60);
}

/// The clock and the language. The clock needs no service; what services know is added where there
/// are any. Source: org.freedesktop.timedate1(5), org.freedesktop.locale1(5).
class Time final : public Adapter {
public:
    explicit Time(const Sources& sources)
        : clock_(sources.loop.clock()), system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline) override { co_return Result<void>(); }

    Task<Result<Value>> run(const std::string& tool, const Value&, Deadline deadline) override {
        if (tool == "now") co_return co_await now(deadline);
        co_return co_await locale(deadline);
    }

private:
    Task<Result<Value>> now(Deadline deadline) {
        const auto timedate = co_await system_.properties(kTimedate, "/org/freedesktop/timedate1",
                                                          kTimedate, soon(deadline));
        const SystemTime at = clock_.system_now();
        Value now = Value::object(
            {{"utc", to_rfc3339(at)}, {"local", to_local(at)}, {"unix_ms", to_unix_ms(at)}});
        if (timedate)
            pick(now, *timedate,
                 {{"Timezone", "timezone"},
                  {"NTP", "ntp"},
                  {"NTPSynchronized", "synchronized"},
                  {"LocalRTC", "hardware_clock_is_local"}});
        co_return now;
    }

    Task<Result<Value>> locale(Deadline deadline) {
        const auto locale1 = co_await system_.properties(kLocale, "/org/freedesktop/locale1",
                                                         kLocale, soon(deadline));
        Value found = Value::object();
        for (const char* name : {"LC_ALL", "LC_TIME", "LANG"}) {
            if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
                found.set(name, value);
        }
        Value answer = Value::object({{"session", std::move(found)}});
        if (!locale1) co_return answer;
        Value system = Value::object();
        for (const std::string& setting : texts_of(items_in(*locale1, "Locale"))) {
            const std::size_t equals = setting.find('=');
            if (equals != setting.npos)
                system.set(setting.substr(0, equals), setting.substr(equals + 1));
        }
        answer.set("system", std::move(system));
        pick(answer, *locale1,
             {{"X11Layout", "keyboard_layout"}, {"VConsoleKeymap", "console_keymap"}});
        co_return answer;
    }

    /// What services add is not worth waiting long for.
    Deadline soon(Deadline deadline) const {
        return std::min(deadline, clock_.steady_now() + std::chrono::seconds(2));
    }

    const Clock& clock_;
    BusLink& system_;
};

}  // namespace

AdapterInfo time_adapter() {
    return {.label = "time",
            .name = "Time and locale",
            .reads = kTimedate,
            .on = true,
            .tools = {{"now",
                       "The time of this machine in UTC and in its own time zone, and whether its "
                       "clock is synchronized",
                       std::string(kNoArgs)},
                      {"locale", "The languages and the keyboard layout of this machine",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Time>(sources);
            }};
}

}  // namespace crab::bridge
