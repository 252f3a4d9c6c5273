#include "base/task/gather.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

#include <algorithm>

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kPhoneService = "org.kde.kdeconnect";
constexpr std::string_view kDevices = "/modules/kdeconnect/devices/";
constexpr const char* kDevice = "org.kde.kdeconnect.device";
constexpr std::size_t kNotifications = 50;  // of one phone

/// Source: the D-Bus interfaces of KDE Connect 22.12. Notifications are read and never dismissed or
/// answered.
class Phone final : public Adapter {
public:
    explicit Phone(const Sources& sources) : session_(sources.bus(BusKind::kSession)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto ids = co_await paired(deadline);
        if (!ids) co_return fail(ids.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string& tool, const Value&, Deadline deadline) override {
        const auto ids = co_await paired(deadline);
        if (!ids) co_return fail(ids.error());
        const bool with_notifications = tool == "notifications";
        std::vector<Task<Value>> questions;
        for (const std::string& id : *ids)
            questions.push_back(with_notifications ? notifications(id, deadline)
                                                   : describe(id, deadline));
        Value phones = Value::array();
        for (Value& phone : co_await gather(std::move(questions))) {
            if (!phone.is_null()) phones.push_back(std::move(phone));
        }
        co_return Value::object({{"phones", std::move(phones)}});
    }

private:
    Task<Result<std::vector<std::string>>> paired(Deadline deadline) {
        BusCall list{
            kPhoneService, "/modules/kdeconnect",      "org.kde.kdeconnect.daemon", "devices",
            "bb",          {Value(false), Value(true)}};
        const auto values = co_await session_.call(std::move(list), deadline);
        if (!values) co_return fail(values.error());
        co_return texts_of(items_at(*values, 0));
    }

    /// Null when it has gone meanwhile.
    Task<Value> name(std::string id, Deadline deadline) {
        const auto device = co_await session_.properties(kPhoneService, std::string(kDevices) + id,
                                                         kDevice, deadline);
        if (!device) co_return Value();
        Value phone = Value::object();
        pick(phone, *device, {{"name", "name"}, {"type", "kind"}, {"isReachable", "reachable"}});
        co_return phone;
    }

    Task<Value> describe(std::string id, Deadline deadline) {
        Value phone = co_await name(id, deadline);
        if (phone.is_null()) co_return phone;
        const auto battery =
            co_await session_.properties(kPhoneService, std::string(kDevices) + id + "/battery",
                                         "org.kde.kdeconnect.device.battery", deadline);
        if (battery && integer_in(*battery, "charge", -1) >= 0)
            pick(phone, *battery, {{"charge", "battery_percent"}, {"isCharging", "charging"}});
        co_return phone;
    }

    Task<Value> notifications(std::string id, Deadline deadline) {
        const std::string base = std::string(kDevices) + id + "/notifications";
        Value phone = co_await name(id, deadline);
        if (phone.is_null()) co_return phone;
        BusCall list{kPhoneService, base, "org.kde.kdeconnect.device.notifications",
                     "activeNotifications"};
        const auto values = co_await session_.call(std::move(list), deadline);
        std::vector<std::string> ids =
            values ? texts_of(items_at(*values, 0)) : std::vector<std::string>();
        ids.resize(std::min(ids.size(), kNotifications));
        std::vector<Task<Result<Value>>> questions;
        for (const std::string& each : ids)
            questions.push_back(session_.properties(
                kPhoneService, base + "/" + each,
                "org.kde.kdeconnect.device.notifications.notification", deadline));
        Value& shown = phone.set("notifications", Value::array());
        for (const auto& notification : co_await gather(std::move(questions))) {
            if (notification)
                pick(shown.push_back(Value::object()), *notification,
                     {{"appName", "app"}, {"title", "title"}, {"text", "text"}});
        }
        co_return phone;
    }

    BusLink& session_;
};

}  // namespace

AdapterInfo phone_adapter() {
    return {.label = "phone",
            .name = "Paired phones",
            .reads = kPhoneService,
            .on = false,
            .tools = {{"phones",
                       "The phones paired with this desktop by KDE Connect: whether they are near, "
                       "and their charge",
                       std::string(kNoArgs)},
                      {"notifications",
                       "The notifications that the paired phones show now: app, title and text",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Phone>(sources);
            }};
}

}  // namespace crab::bridge
