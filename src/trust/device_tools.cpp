#include "trust/device_tools.hpp"

#include <algorithm>
#include <utility>

namespace crab::trust {
namespace {

// names of one device, so that nobody fills the store with names
constexpr std::size_t kMostTools = 1024;

}  // namespace

Result<std::unique_ptr<DeviceTools>> DeviceTools::load(DeviceToolStore& store) {
    auto records = store.load();
    if (!records) return fail(std::move(records.error()));
    std::unique_ptr<DeviceTools> made(new DeviceTools(store));
    for (DeviceToolRecord& record : *records) {
        if (!record.waiting) made->had_[record.tool].push_back(record.device);
        made->devices_[std::move(record.device)].tools.insert_or_assign(std::move(record.tool),
                                                                        record.waiting);
    }
    return made;
}

std::vector<std::string> DeviceTools::offer(std::string_view device, ConnectionId connection,
                                            std::span<const std::string> names, Added added) {
    const std::scoped_lock lock(mutex_);
    if (!offered_.contains(device)) offered_.emplace(device);
    auto found = devices_.find(device);
    if (found == devices_.end()) {
        if (names.empty()) return {};
        found =
            devices_.emplace(std::string(device), Device{.first = connection, .tools = {}}).first;
    }
    Device& known = found->second;
    const bool good = known.first == connection || added == Added::kKnown;
    std::vector<std::string> held;
    for (const std::string& name : names) {
        const auto tool = known.tools.find(name);
        if (tool != known.tools.end()) {
            if (tool->second) held.push_back(name);
            continue;
        }
        if (!good || known.tools.size() >= kMostTools) held.push_back(name);
        if (known.tools.size() >= kMostTools) continue;
        known.tools.emplace(name, !good);
        unsaved_.push_back({.device = std::string(device), .tool = name, .waiting = !good});
    }
    if (added == Added::kKnown) held.clear();
    return held;
}

std::vector<std::string> DeviceTools::away_with(std::string_view tool) const {
    std::vector<std::string> away;
    const auto found = had_.find(tool);
    if (found == had_.end()) return away;
    const std::scoped_lock lock(mutex_);
    for (const std::string& device : found->second) {
        if (away.size() < kMostAway && !offered_.contains(device)) away.push_back(device);
    }
    return away;
}

bool DeviceTools::has_offered(std::string_view device) const {
    const std::scoped_lock lock(mutex_);
    return offered_.contains(device);
}

Result<std::vector<std::string>> DeviceTools::approve(std::string_view device,
                                                      std::span<const std::string> names) {
    std::vector<std::string> approved;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = devices_.find(device);
        if (found == devices_.end()) return approved;
        for (auto& [name, waits] : found->second.tools) {
            if (!waits || (!names.empty() && std::ranges::find(names, name) == names.end()))
                continue;
            waits = false;
            approved.push_back(name);
            unsaved_.push_back({.device = std::string(device), .tool = name, .waiting = false});
        }
    }
    if (auto stored = flush(); !stored) return fail(std::move(stored.error()));
    return approved;
}

std::vector<std::string> DeviceTools::waiting(std::string_view device) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    if (const auto found = devices_.find(device); found != devices_.end()) {
        for (const auto& [name, waits] : found->second.tools) {
            if (waits) names.push_back(name);
        }
    }
    return names;
}

bool DeviceTools::is_stored() const {
    const std::scoped_lock lock(mutex_);
    return unsaved_.empty();
}

Result<void> DeviceTools::flush() {
    const std::scoped_lock writing(writing_);
    std::vector<DeviceToolRecord> changed;
    {
        const std::scoped_lock lock(mutex_);
        changed = unsaved_;
    }
    if (changed.empty()) return {};
    if (auto stored = store_.put(changed); !stored) return stored;
    const std::scoped_lock lock(mutex_);
    unsaved_.erase(unsaved_.begin(),
                   unsaved_.begin() + static_cast<std::ptrdiff_t>(changed.size()));
    return {};
}

}  // namespace crab::trust
