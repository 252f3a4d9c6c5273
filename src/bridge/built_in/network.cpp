#include "base/task/gather.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kNetworkService = "org.freedesktop.NetworkManager";
constexpr const char* kNetworkPath = "/org/freedesktop/NetworkManager";

/// The words of an enumeration that counts in tens, as NetworkManager's states do.
std::string_view ten_word_of(std::int64_t number, std::initializer_list<std::string_view> words) {
    return word_of(number % 10 == 0 ? number / 10 : -1, words);
}

/// Source: the D-Bus API of NetworkManager 1.42. Addresses and names of wireless networks reveal
/// places, so it is off by default.
class Network final : public Adapter {
public:
    explicit Network(const Sources& sources) : system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto manager =
            co_await system_.properties(kNetworkService, kNetworkPath, kNetworkService, deadline);
        if (!manager) co_return fail(manager.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const auto manager =
            co_await system_.properties(kNetworkService, kNetworkPath, kNetworkService, deadline);
        if (!manager) co_return fail(manager.error());
        Value status = Value::object();
        status.set("state",
                   ten_word_of(integer_in(*manager, "State"),
                               {"unknown", "asleep", "disconnected", "disconnecting", "connecting",
                                "connected locally", "connected to the site", "connected"}));
        status.set("connectivity", word_of(integer_in(*manager, "Connectivity"),
                                           {"unknown", "none", "portal", "limited", "full"}));
        status.set("metered", word_of(integer_in(*manager, "Metered"),
                                      {"unknown", "yes", "no", "probably", "probably not"}));
        pick(status, *manager, {{"WirelessEnabled", "wireless_enabled"}});
        std::vector<Task<Value>> questions;
        for (const std::string& path : texts_of(items_in(*manager, "Devices")))
            questions.push_back(describe(path, deadline));
        Value& devices = status.set("devices", Value::array());
        for (Value& device : co_await gather(std::move(questions))) {
            if (!device.is_null()) devices.push_back(std::move(device));
        }
        co_return status;
    }

private:
    /// Null when it has gone meanwhile.
    Task<Value> describe(std::string path, Deadline deadline) {
        const auto found = co_await system_.properties(
            kNetworkService, path, "org.freedesktop.NetworkManager.Device", deadline);
        if (!found) co_return Value();
        Value device = Value::object();
        pick(device, *found, {{"Interface", "interface"}});
        const std::int64_t type = integer_in(*found, "DeviceType");
        device.set("type",
                   word_of(type, {"unknown",   "ethernet",   "wifi",    "unknown", "unknown",
                                  "bluetooth", "olpc mesh",  "wimax",   "modem",   "infiniband",
                                  "bond",      "vlan",       "adsl",    "bridge",  "generic",
                                  "team",      "tun",        "tunnel",  "macvlan", "vxlan",
                                  "veth",      "macsec",     "dummy",   "ppp",     "ovs interface",
                                  "ovs port",  "ovs bridge", "wpan",    "6lowpan", "wireguard",
                                  "wifi p2p",  "vrf",        "loopback"}));
        device.set("state",
                   ten_word_of(integer_in(*found, "State"),
                               {"unknown", "unmanaged", "unavailable", "disconnected", "preparing",
                                "configuring", "needs a password", "getting an address", "checking",
                                "waiting", "connected", "disconnecting", "failed"}));
        Value& addresses = device.set("addresses", Value::array());
        for (const auto& [member, interface] :
             {std::pair("Ip4Config", "org.freedesktop.NetworkManager.IP4Config"),
              {"Ip6Config", "org.freedesktop.NetworkManager.IP6Config"}}) {
            const std::string config = text_in(*found, member);
            if (config.size() < 2) continue;
            const auto ip =
                co_await system_.properties(kNetworkService, config, interface, deadline);
            if (!ip) continue;
            for (const Value& address : items_in(*ip, "AddressData")) {
                Value& entry = addresses.push_back(Value::object());
                pick(entry, address, {{"address", "address"}, {"prefix", "prefix"}});
            }
        }
        constexpr std::int64_t kWifi = 2;
        if (type == kWifi) co_await add_wireless(device, path, deadline);
        co_return device;
    }

    Task<void> add_wireless(Value& device, const std::string& path, Deadline deadline) {
        const auto wireless = co_await system_.properties(
            kNetworkService, path, "org.freedesktop.NetworkManager.Device.Wireless", deadline);
        const std::string point = wireless ? text_in(*wireless, "ActiveAccessPoint") : "";
        if (point.size() < 2) co_return;
        const auto found = co_await system_.properties(
            kNetworkService, point, "org.freedesktop.NetworkManager.AccessPoint", deadline);
        if (found)
            pick(device, *found,
                 {{"Ssid", "ssid"},
                  {"Strength", "strength_percent"},
                  {"Frequency", "frequency_mhz"}});
    }

    BusLink& system_;
};

}  // namespace

AdapterInfo network_adapter() {
    return {.label = "network",
            .name = "Network",
            .reads = kNetworkService,
            .on = false,
            .tools = {{"status",
                       "How this machine is connected: state, whether the connection is metered, "
                       "devices, addresses, wireless networks",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Network>(sources);
            }};
}

}  // namespace crab::bridge
