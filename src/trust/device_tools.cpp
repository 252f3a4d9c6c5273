#include "trust/device_tools.hpp"

#include "crypto/digest.hpp"

#include <algorithm>
#include <utility>

namespace crab::trust {
namespace {

// names of one device, so that nobody fills the store with names
constexpr std::size_t kMostTools = 1024;
constexpr std::string_view kDigest = "sha256:";

std::string digest_of_form(const std::string& form) {
    return std::string(kDigest) + crypto::sha256_hex(form);
}

bool is_form(std::string_view kept, const std::string& form) {
    return kept.starts_with(kDigest) ? kept == digest_of_form(form) : kept == form;
}

}  // namespace

Result<std::unique_ptr<DeviceTools>> DeviceTools::load(DeviceToolStore& store) {
    auto records = store.load();
    if (!records) return fail(std::move(records.error()));
    std::unique_ptr<DeviceTools> made(new DeviceTools(store));
    for (DeviceToolRecord& record : *records) {
        if (!record.waiting) made->had_[record.tool].push_back(record.device);
        Device& device = made->devices_[std::move(record.device)];
        Tool& tool = device.tools[std::move(record.tool)];
        tool.waits = record.waiting;
        device.set(tool.approved, std::move(record.approved));
        device.set(tool.offered, std::move(record.offered));
    }
    return made;
}

/// What is kept of a form: itself while there is room.
std::string DeviceTools::Device::kept(const std::string& form) {
    return bytes + form.size() <= kMostBytes ? form : digest_of_form(form);
}

void DeviceTools::Device::set(std::string& which, std::string form) {
    bytes -= which.size();
    which = std::move(form);
    bytes += which.size();
}

void DeviceTools::save(std::string_view device, std::string_view name, const Tool& tool) {
    unsaved_.push_back({.device = std::string(device),
                        .tool = std::string(name),
                        .waiting = tool.waits,
                        .approved = tool.approved,
                        .offered = tool.offered});
}

/// What becomes of a known tool that is offered again; whether anything changes.
bool DeviceTools::take_offer(Device& device, Tool& tool, const std::string& form, Asked asked) {
    const bool is_approved = is_form(tool.approved, form);
    if (asked == Asked::kNobody) {
        if (tool.waits || is_approved || tool.approved.empty()) return false;
        device.set(tool.approved, device.kept(form));
        return true;
    }
    if (!tool.waits && tool.approved.empty()) {  // let in before forms were kept
        device.set(tool.approved, device.kept(form));
        return true;
    }
    if (is_approved) {  // perhaps again, after a change that waited
        device.set(tool.offered, {});
        return std::exchange(tool.waits, false);
    }
    if (tool.waits && is_form(tool.offered, form)) return false;
    tool.waits = true;
    device.set(tool.offered, device.kept(form));
    return true;
}

std::vector<std::string> DeviceTools::offer(std::string_view device, ConnectionId connection,
                                            std::span<const OfferedDeviceTool> tools, Added added) {
    const std::scoped_lock lock(mutex_);
    if (!offered_.contains(device)) offered_.emplace(device);
    auto found = devices_.find(device);
    if (found == devices_.end()) {
        if (tools.empty()) return {};
        found = devices_.emplace(std::string(device), Device{.first = connection}).first;
    }
    Device& known = found->second;
    const bool good = known.first == connection || added == Added::kKnown;
    std::vector<std::string> held;
    for (const auto& [name, form] : tools) {
        if (const auto tool = known.tools.find(name); tool != known.tools.end()) {
            if (take_offer(known, tool->second, form, good ? Asked::kNobody : Asked::kOperator))
                save(device, name, tool->second);
            if (tool->second.waits) held.push_back(name);
            continue;
        }
        if (!good || known.tools.size() >= kMostTools) held.push_back(name);
        if (known.tools.size() >= kMostTools) continue;
        Tool& tool = known.tools[name];
        tool.waits = !good;
        if (added == Added::kWait) known.set(good ? tool.approved : tool.offered, known.kept(form));
        save(device, name, tool);
    }
    if (added == Added::kKnown) held.clear();
    return held;
}

const DeviceTools::Tool* DeviceTools::find(std::string_view device, std::string_view tool) const {
    const auto found = devices_.find(device);
    if (found == devices_.end()) return nullptr;
    const auto known = found->second.tools.find(tool);
    return known == found->second.tools.end() ? nullptr : &known->second;
}

bool DeviceTools::is_changed(std::string_view device, std::string_view tool) const {
    const std::scoped_lock lock(mutex_);
    const Tool* const known = find(device, tool);
    return known != nullptr && known->waits && !known->approved.empty();
}

std::optional<std::string> DeviceTools::approved_form(std::string_view device,
                                                      std::string_view tool) const {
    const std::scoped_lock lock(mutex_);
    const Tool* const known = find(device, tool);
    if (known == nullptr || known->approved.empty() || known->approved.starts_with(kDigest))
        return std::nullopt;
    return known->approved;
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
        Device& known = found->second;
        for (auto& [name, tool] : known.tools) {
            if (!tool.waits || (!names.empty() && std::ranges::find(names, name) == names.end()))
                continue;
            tool.waits = false;
            known.set(tool.approved, tool.offered);
            known.set(tool.offered, {});
            approved.push_back(name);
            save(device, name, tool);
        }
    }
    if (auto stored = flush(); !stored) return fail(std::move(stored.error()));
    return approved;
}

std::vector<std::string> DeviceTools::waiting(std::string_view device) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    if (const auto found = devices_.find(device); found != devices_.end()) {
        for (const auto& [name, tool] : found->second.tools) {
            if (tool.waits) names.push_back(name);
        }
    }
    return names;
}

/// What the store has of a tool; whether it waited here until now. The caller holds mutex_.
bool DeviceTools::take(DeviceToolRecord record) {
    Device& device = devices_[std::move(record.device)];
    const auto [tool, is_new] = device.tools.try_emplace(std::move(record.tool));
    const bool waited = std::exchange(tool->second.waits, record.waiting);
    device.set(tool->second.approved, std::move(record.approved));
    device.set(tool->second.offered, std::move(record.offered));
    return waited && !record.waiting && !is_new;
}

Result<std::vector<DeviceTools::Released>> DeviceTools::refresh() {
    const std::scoped_lock writing(writing_);
    auto records = store_.load();
    if (!records) return fail(std::move(records.error()));
    std::vector<Released> released;
    const std::scoped_lock lock(mutex_);
    const auto is_newer_here = [&](const DeviceToolRecord& record) {
        return std::ranges::any_of(unsaved_, [&](const DeviceToolRecord& each) {
            return each.device == record.device && each.tool == record.tool;
        });
    };
    for (DeviceToolRecord& record : *records) {
        if (is_newer_here(record)) continue;
        std::string device = record.device, tool = record.tool;
        if (!take(std::move(record))) continue;
        if (released.empty() || released.back().device != device)
            released.push_back({.device = std::move(device), .tools = {}});
        released.back().tools.push_back(std::move(tool));
    }
    return released;
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
