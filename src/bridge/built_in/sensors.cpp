#include "base/task/waiter.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

#include <array>

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kSensorsService = "net.hadess.SensorProxy";
constexpr const char* kSensorsPath = "/net/hadess/SensorProxy";
constexpr Milliseconds kFirstValue{400};  // from a claim to what the sensor says

struct Sensor {
    const char* has;      ///< the property that says so
    const char* claimed;  ///< as in `ClaimLight`
};
constexpr std::array kSensors{Sensor{"HasAccelerometer", "Accelerometer"},
                              Sensor{"HasAmbientLight", "Light"},
                              Sensor{"HasProximity", "Proximity"}};

/// The service measures only while somebody claims a sensor, so each call claims, waits for a first
/// value, reads and releases. Source: the D-Bus interface of iio-sensor-proxy 3.
class Sensors final : public Adapter {
public:
    explicit Sensors(const Sources& sources)
        : loop_(sources.loop), system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline deadline) override {
        const auto sensors = co_await read(deadline);
        if (!sensors) co_return fail(sensors.error());
        for (const Sensor& sensor : kSensors) {
            if (has(*sensors, sensor)) co_return Result<void>();
        }
        co_return fail(ErrorCode::kUnavailable, "this machine has no sensors");
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const auto before = co_await read(deadline);
        if (!before) co_return fail(before.error());
        ++calls_;
        Result<void> claimed = co_await for_each("Claim", *before, deadline);
        if (claimed) {
            Waiter pause(loop_.timers());
            co_await pause.wait(std::min(deadline, loop_.clock().steady_now() + kFirstValue));
        }
        const auto values = co_await read(deadline);
        // one connection claims once, however many calls it has
        if (--calls_ == 0) (void)co_await for_each("Release", *before, deadline);
        if (!claimed) co_return fail(claimed.error());
        if (!values) co_return fail(values.error());
        Value answer = Value::object();
        if (has(*values, kSensors[0]))
            pick(answer, *values,
                 {{"AccelerometerOrientation", "orientation"}, {"AccelerometerTilt", "tilt"}});
        if (has(*values, kSensors[1]))
            pick(answer, *values, {{"LightLevel", "light"}, {"LightLevelUnit", "light_unit"}});
        if (has(*values, kSensors[2]))
            pick(answer, *values, {{"ProximityNear", "something_is_near"}});
        co_return answer;
    }

private:
    Task<Result<Value>> read(Deadline deadline) {
        return system_.properties(kSensorsService, kSensorsPath, kSensorsService, deadline);
    }

    /// Calls a method of all sensors that are there. Errors: the first refusal.
    Task<Result<void>> for_each(std::string verb, Value sensors, Deadline deadline) {
        Result<void> all;
        for (const Sensor& sensor : kSensors) {
            if (!has(sensors, sensor)) continue;
            BusCall call{kSensorsService, kSensorsPath, kSensorsService, verb + sensor.claimed};
            const auto done = co_await system_.call(std::move(call), deadline);
            if (!done && all) all = fail(done.error());
        }
        co_return all;
    }

    static bool has(const Value& sensors, const Sensor& sensor) {
        const Value* there = sensors.find(sensor.has);
        return there != nullptr && there->as_bool() != nullptr && *there->as_bool();
    }

    net::EventLoop& loop_;
    BusLink& system_;
    int calls_ = 0;  // under way
};

}  // namespace

AdapterInfo sensors_adapter() {
    return {.label = "sensors",
            .name = "Sensors",
            .reads = kSensorsService,
            .on = false,
            .tools = {{"read",
                       "What the sensors of this machine say now: how it is held, how bright it is "
                       "around it, whether something is near",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Sensors>(sources);
            }};
}

}  // namespace crab::bridge
