#include "base/task/gather.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kBatteryService = "org.freedesktop.UPower";
constexpr const char* kBatteryPath = "/org/freedesktop/UPower";

/// Source: the D-Bus interfaces of UPower 0.99.
class Battery final : public Adapter {
public:
    explicit Battery(const Sources& sources) : system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto upower =
            co_await system_.properties(kBatteryService, kBatteryPath, kBatteryService, deadline);
        if (!upower) co_return fail(upower.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const auto upower =
            co_await system_.properties(kBatteryService, kBatteryPath, kBatteryService, deadline);
        if (!upower) co_return fail(upower.error());
        BusCall enumerate{kBatteryService, kBatteryPath, kBatteryService, "EnumerateDevices"};
        const auto paths = co_await system_.call(std::move(enumerate), deadline);
        if (!paths) co_return fail(paths.error());
        std::vector<Task<Result<Value>>> questions;
        for (const std::string& path : texts_of(items_at(*paths, 0)))
            questions.push_back(system_.properties(kBatteryService, path,
                                                   "org.freedesktop.UPower.Device", deadline));
        const auto devices = co_await gather(std::move(questions));
        Value status = Value::object();
        pick(status, *upower, {{"OnBattery", "on_battery"}, {"LidIsClosed", "lid_closed"}});
        Value& batteries = status.set("batteries", Value::array());
        for (const auto& device : devices) {
            // one that was pulled out meanwhile is not there
            if (device && is_battery(*device)) batteries.push_back(describe(*device));
        }
        co_return status;
    }

private:
    /// Whatever has a charge; line power has none.
    static bool is_battery(const Value& device) { return integer_in(device, "Type") >= 2; }
    static Value describe(const Value& device) {
        Value battery = Value::object();
        battery.set("kind", word_of(integer_in(device, "Type"),
                                    {"unknown", "line power", "battery", "ups", "monitor", "mouse",
                                     "keyboard", "pda", "phone"}));
        battery.set("state", word_of(integer_in(device, "State"),
                                     {"unknown", "charging", "discharging", "empty", "full",
                                      "pending charge", "pending discharge"}));
        pick(battery, device,
             {{"Vendor", "vendor"},
              {"Model", "model"},
              {"Percentage", "percent"},
              {"Energy", "energy_wh"},
              {"EnergyRate", "rate_w"},
              {"Capacity", "health_percent"}});
        if (const auto seconds = integer_in(device, "TimeToEmpty"); seconds > 0)
            battery.set("seconds_to_empty", seconds);
        if (const auto seconds = integer_in(device, "TimeToFull"); seconds > 0)
            battery.set("seconds_to_full", seconds);
        return battery;
    }

    BusLink& system_;
};

}  // namespace

AdapterInfo battery_adapter() {
    return {.label = "battery",
            .name = "Battery",
            .reads = kBatteryService,
            .on = true,
            .tools = {{"status",
                       "Whether this machine runs on battery, and the charge and state of each "
                       "battery and battery-powered device",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Battery>(sources);
            }};
}

}  // namespace crab::bridge
