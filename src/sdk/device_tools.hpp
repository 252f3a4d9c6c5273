#pragma once

#include "crab/device.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::sdk {

/// One tool of a device and how it is registered.
struct DeviceTool {
    std::string name;
    std::string element;  ///< its object in `register_tools.tools`, JSON
    ToolHandler handler;
    LaterHandler later;  ///< one of the two
};

/// Checks and renders a tool. Throws std::invalid_argument, see Device::tool().
std::shared_ptr<const DeviceTool> make_device_tool(std::string name, std::string description,
                                                   std::string schema, ToolHandler handler,
                                                   const ToolTraits& traits,
                                                   LaterHandler later = {});

/// The tools of a device, by name. Thread-safe.
class DeviceTools {
public:
    void set(std::shared_ptr<const DeviceTool> tool);
    bool remove(std::string_view name);
    void replace(const std::vector<std::shared_ptr<const DeviceTool>>& tools);
    /// nullptr when there is none.
    std::shared_ptr<const DeviceTool> find(std::string_view name) const;
    std::vector<std::shared_ptr<const DeviceTool>> list() const;
    std::size_t size() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const DeviceTool>, std::less<>> tools_;
};

}  // namespace crab::sdk
