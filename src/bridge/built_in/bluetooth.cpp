#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kBluetoothService = "org.bluez";

/// Source: the D-Bus API of BlueZ 5. Which devices are near reveals places and people, so it is off
/// by default; addresses are never told.
class Bluetooth final : public Adapter {
public:
    explicit Bluetooth(const Sources& sources) : system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto objects = co_await managed_objects(deadline);
        if (!objects) co_return fail(objects.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const auto objects = co_await managed_objects(deadline);
        if (!objects) co_return fail(objects.error());
        Value adapters = Value::array(), devices = Value::array();
        for (const auto& [path, interfaces] : *objects->as_object()) {
            if (const Value* adapter = interfaces.find("org.bluez.Adapter1")) {
                pick(adapters.push_back(Value::object()), *adapter,
                     {{"Alias", "name"}, {"Powered", "powered"}, {"Discovering", "discovering"}});
            }
            if (const Value* device = interfaces.find("org.bluez.Device1")) {
                Value& entry = devices.push_back(Value::object());
                pick(entry, *device,
                     {{"Alias", "name"},
                      {"Icon", "kind"},
                      {"Paired", "paired"},
                      {"Trusted", "trusted"},
                      {"Connected", "connected"},
                      {"RSSI", "signal_dbm"}});
                if (const Value* battery = interfaces.find("org.bluez.Battery1"))
                    pick(entry, *battery, {{"Percentage", "battery_percent"}});
            }
        }
        co_return Value::object(
            {{"adapters", std::move(adapters)}, {"devices", std::move(devices)}});
    }

private:
    /// Interfaces with their properties, by path.
    Task<Result<Value>> managed_objects(Deadline deadline) {
        BusCall list{kBluetoothService, "/", "org.freedesktop.DBus.ObjectManager",
                     "GetManagedObjects"};
        auto values = co_await system_.call(std::move(list), deadline);
        if (!values) co_return values;
        if (values->as_array()->empty() || !values->as_array()->front().is_object())
            co_return Value::object();
        co_return std::move(values->as_array()->front());
    }

    BusLink& system_;
};

}  // namespace

AdapterInfo bluetooth_adapter() {
    return {.label = "bluetooth",
            .name = "Bluetooth",
            .reads = kBluetoothService,
            .on = false,
            .tools = {{"status",
                       "Bluetooth of this machine: whether it is on, and the known devices with "
                       "kind, connection, signal and charge",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Bluetooth>(sources);
            }};
}

}  // namespace crab::bridge
