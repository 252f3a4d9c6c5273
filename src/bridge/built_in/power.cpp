#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kPowerService = "net.hadess.PowerProfiles";
constexpr const char* kPowerPath = "/net/hadess/PowerProfiles";

/// Source: the D-Bus interface of power-profiles-daemon 0.12.
class Power final : public Adapter {
public:
    explicit Power(const Sources& sources) : system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto profiles =
            co_await system_.properties(kPowerService, kPowerPath, kPowerService, deadline);
        if (!profiles) co_return fail(profiles.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const auto found =
            co_await system_.properties(kPowerService, kPowerPath, kPowerService, deadline);
        if (!found) co_return fail(found.error());
        Value status = Value::object();
        pick(status, *found,
             {{"ActiveProfile", "profile"}, {"PerformanceDegraded", "performance_degraded_by"}});
        Value& profiles = status.set("profiles", Value::array());
        for (const Value& profile : items_in(*found, "Profiles"))
            profiles.push_back(text_in(profile, "Profile"));
        Value& holds = status.set("held_by", Value::array());
        for (const Value& hold : items_in(*found, "ActiveProfileHolds")) {
            pick(holds.push_back(Value::object()), hold,
                 {{"ApplicationId", "app"}, {"Profile", "profile"}, {"Reason", "reason"}});
        }
        co_return status;
    }

private:
    BusLink& system_;
};

}  // namespace

AdapterInfo power_adapter() {
    return {.label = "power",
            .name = "Power profile",
            .reads = kPowerService,
            .on = false,
            .tools = {{"status",
                       "Which power profile this machine runs in, which it has, which app holds "
                       "one, and what slows it down",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Power>(sources);
            }};
}

}  // namespace crab::bridge
