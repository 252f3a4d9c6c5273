#include "crab/device.hpp"

#include "base/ordered_mutex.hpp"
#include "sdk/device_driver.hpp"

#include <condition_variable>
#include <stdexcept>
#include <thread>
#include <utility>

namespace crab {

class Device::Impl {
public:
    explicit Impl(DeviceOptions options) : options_(std::move(options)) {}
    ~Impl() {
        stop();
        wait();
    }

    sdk::DeviceTools& tools() { return tools_; }

    void start() {
        const std::scoped_lock lock(mutex_);
        if (running_) throw std::logic_error("this device is running already");
        if (thread_.joinable()) thread_.join();  // of an earlier run, which has ended
        running_ = true;
        stop_wanted_ = false;
        end_.reset();
        thread_ = std::thread([this] { live(); });
    }

    void stop() {
        const std::scoped_lock lock(mutex_);
        if (!running_) return;
        stop_wanted_ = true;
        if (driver_ != nullptr) driver_->stop();
    }

    DeviceEnd wait() {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return !running_; });
        if (thread_.joinable()) std::exchange(thread_, {}).join();  // it holds no lock any more
        return end_.value_or(DeviceEnd{DeviceEnd::Reason::kStopped, "never started"});
    }

    void tools_changed() {
        const std::scoped_lock lock(mutex_);
        if (driver_ != nullptr) driver_->tools_changed();
    }

    void set_presence(const DevicePresence& presence) {
        const std::scoped_lock lock(mutex_);
        presence_ = presence;
        if (driver_ != nullptr) driver_->set_presence(presence);
    }

private:
    void live() {
        DeviceEnd end = serve();
        const std::scoped_lock lock(mutex_);
        end_ = std::move(end);
        running_ = false;
        ended_.notify_all();
    }

    DeviceEnd serve() {
        auto address = sdk::parse_gateway(options_.gateway, sdk::plain_reach(options_.allow_plain));
        if (!address) return {DeviceEnd::Reason::kInvalid, address.error().message};
        auto tls = sdk::client_tls(*address, options_.ca_file);
        if (!tls) return {DeviceEnd::Reason::kInvalid, tls.error().message};
        sdk::DeviceDriver driver(options_, tools_, *std::move(address), *std::move(tls));
        {
            const std::scoped_lock lock(mutex_);
            driver_ = &driver;
            if (presence_) driver.set_presence(*presence_);
            if (stop_wanted_) driver.stop();
        }
        DeviceEnd end = driver.run();
        const std::scoped_lock lock(mutex_);
        driver_ = nullptr;
        return end;
    }

    const DeviceOptions options_;
    sdk::DeviceTools tools_;
    OrderedMutex<LockRank::kDevice> mutex_;
    std::condition_variable_any ended_;
    std::optional<DeviceEnd> end_;
    std::optional<DevicePresence> presence_;
    sdk::DeviceDriver* driver_ = nullptr;  // while one runs
    bool running_ = false;
    bool stop_wanted_ = false;
    std::thread thread_;
};

Device::Device(DeviceOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Device::~Device() = default;

void Device::tool(std::string name, std::string description, std::string schema,
                  ToolHandler handler, ToolTraits traits) {
    impl_->tools().set(sdk::make_device_tool(std::move(name), std::move(description),
                                             std::move(schema), std::move(handler), traits));
    impl_->tools_changed();
}

void Device::set_tools(std::vector<ToolDefinition> tools) {
    std::vector<std::shared_ptr<const sdk::DeviceTool>> made;
    for (ToolDefinition& tool : tools) {
        made.push_back(sdk::make_device_tool(std::move(tool.name), std::move(tool.description),
                                             std::move(tool.schema), std::move(tool.handler),
                                             tool.traits, std::move(tool.later)));
    }
    impl_->tools().replace(made);
    impl_->tools_changed();
}

bool Device::remove_tool(std::string_view name) {
    if (!impl_->tools().remove(name)) return false;
    impl_->tools_changed();
    return true;
}

std::size_t Device::tool_count() const { return impl_->tools().size(); }

void Device::set_presence(const DevicePresence& presence) {
    if (presence.battery && !(*presence.battery >= 0 && *presence.battery <= 1))
        throw std::invalid_argument("a battery is charged 0 to 1");
    impl_->set_presence(presence);
}

DeviceEnd Device::run() {
    start();
    return wait();
}
void Device::start() { impl_->start(); }
void Device::stop() { impl_->stop(); }
DeviceEnd Device::wait() { return impl_->wait(); }

}  // namespace crab
