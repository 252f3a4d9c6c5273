#include "gateway/devices/away_devices.hpp"

#include <utility>

namespace crab::gateway {

std::vector<std::shared_ptr<const core::Tool>> AwayDevices::meant_by(
    std::string_view name, std::string_view provider) const {
    std::vector<std::pair<std::string, std::string_view>> meant;  // device, plain name
    if (!provider.empty()) {
        meant.emplace_back(provider, name);
    } else {
        if (const auto mark = name.find("__"); mark != std::string_view::npos)
            meant.emplace_back(name.substr(0, mark), name.substr(mark + 2));
        for (std::string& device : tools_.away_with(name))
            meant.emplace_back(std::move(device), name);
    }
    std::vector<std::shared_ptr<const core::Tool>> tools;
    if (meant.empty()) return tools;
    const auto welcome = this->welcome();
    for (const auto& [device, plain] : meant) {
        const auto found = welcome->find(device);
        if (found == welcome->end() || tools_.has_offered(device) || !core::is_tool_name(plain))
            continue;
        auto tool = core::absent_tool(
            {.kind = core::SourceKind::kDevice, .name = device, .owner = "device/" + device}, plain,
            {});
        tool->tenant = found->second.front();
        tool->more_tenants.assign(found->second.begin() + 1, found->second.end());
        tools.push_back(std::move(tool));
    }
    return tools;
}

/// Who may connect changes with what is issued, which a device can only use by connecting, and with
/// what is revoked, which changes the epoch; so the list is not made for every unknown name.
std::shared_ptr<const AwayDevices::ByDevice> AwayDevices::welcome() const {
    const std::uint64_t epoch = tokens_.epoch();
    {
        const std::scoped_lock lock(mutex_);
        if (welcome_ != nullptr && epoch == epoch_) return welcome_;
    }
    auto made = std::make_shared<ByDevice>();
    const SystemTime now = clock_.system_now();
    for (const trust::TokenRecord& token : tokens_.list()) {
        if (token.roles.has(core::Role::kDevice) && token.is_live(now))
            made->try_emplace(token.device, token.tenants);
    }
    const std::scoped_lock lock(mutex_);
    welcome_ = std::move(made);
    epoch_ = epoch;
    return welcome_;
}

}  // namespace crab::gateway
