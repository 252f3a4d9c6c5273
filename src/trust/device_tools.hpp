#pragma once

#include "base/id.hpp"
#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "trust/device_tool_store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// A tool as a device offers it.
struct OfferedDeviceTool {
    std::string name;
    std::string form;  ///< see form_of()
};

/// The known tools of each device. Tools of a device's first connection are known immediately;
/// tools that a known device adds or changes later need approval, if new ones are asked about. The
/// forms of a device are kept as far as they are not more than kMostBytes. Thread-safe.
/// load(), flush() and approve() may block, the others are quick.
class DeviceTools {
public:
    /// Reads the store once; it must outlive this object. Errors: those of the store.
    static Result<std::unique_ptr<DeviceTools>> load(DeviceToolStore& store);

    /// What becomes of names that a device adds after its first connection.
    enum class Added { kWait, kKnown };
    /// Handles a registration. Returns the names that need approval: none for kKnown. What is new
    /// is stored with the next flush().
    std::vector<std::string> offer(std::string_view device, ConnectionId connection,
                                   std::span<const OfferedDeviceTool> tools, Added added);
    /// Whether a tool that waits was let in before, in another form.
    bool is_changed(std::string_view device, std::string_view tool) const;
    /// The form under which a tool that waits was approved before; nothing: it is a new one, or its
    /// form was not kept.
    std::optional<std::string> approved_form(std::string_view device, std::string_view tool) const;
    static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
    /// Devices that offered a tool of that name before this object was made, and nothing since;
    /// kMostAway at most.
    std::vector<std::string> away_with(std::string_view tool) const;
    static constexpr std::size_t kMostAway = 8;
    /// Whether the device has offered anything, if only nothing, since this object was made.
    bool has_offered(std::string_view device) const;
    /// Approves `names`, or all waiting ones if empty. Returns the approved names that had waited.
    /// Errors: those of the store; the change is then stored with the next flush().
    Result<std::vector<std::string>> approve(std::string_view device,
                                             std::span<const std::string> names);
    std::vector<std::string> waiting(std::string_view device) const;
    /// Tools of a device that need no approval any more.
    struct Released {
        std::string device;
        std::vector<std::string> tools;
    };
    /// Takes from the store what other gateways have learned and approved; blocks. What is not
    /// stored yet is newer. Returns what waited here and does not now. Errors: those of the store.
    Result<std::vector<Released>> refresh();
    /// Whether flush() has nothing to store.
    bool is_stored() const;
    /// Stores what has changed. Errors: those of the store; it tries again.
    Result<void> flush();

private:
    struct Tool {
        bool waits = false;
        std::string approved, offered;  ///< as in DeviceToolRecord
    };
    struct Device {
        /// Over which it became known; nothing: in an earlier run of the gateway
        std::optional<ConnectionId> first;
        std::map<std::string, Tool, std::less<>> tools;  ///< by name
        std::size_t bytes = 0;  ///< of their forms

        std::string kept(const std::string& form);
        void set(std::string& which, std::string form);
    };
    enum class Asked { kNobody, kOperator };
    const Tool* find(std::string_view device, std::string_view tool) const;  ///< with the lock
    static bool take_offer(Device& device, Tool& tool, const std::string& form, Asked asked);
    void save(std::string_view device, std::string_view name, const Tool& tool);
    bool take(DeviceToolRecord record);
    explicit DeviceTools(DeviceToolStore& store) : store_(store) {}

    DeviceToolStore& store_;
    /// Taken before mutex_, held across the store's work.
    OrderedMutex<LockRank::kDeviceToolsWriting> writing_;
    mutable OrderedMutex<LockRank::kDeviceTools> mutex_;  ///< never held across the store's work
    std::map<std::string, Device, std::less<>> devices_;
    std::set<std::string, std::less<>> offered_;  ///< devices, since load()
    /// Devices by the tools that they had in earlier runs; it does not change
    std::map<std::string, std::vector<std::string>, std::less<>> had_;
    std::vector<DeviceToolRecord> unsaved_;
};

}  // namespace crab::trust
