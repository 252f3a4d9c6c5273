#pragma once

#include "base/clock.hpp"
#include "core/registry/absent_tool.hpp"
#include "trust/device_tools.hpp"
#include "trust/tokens.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::gateway {

/// Tools of paired devices that have not offered any since the gateway started: what a phone had
/// before a restart is not unknown until it is back. Any thread.
class AwayDevices final : public core::AbsentTools {
public:
    AwayDevices(const trust::Tokens& tokens, const trust::DeviceTools& tools, const Clock& clock)
        : tokens_(tokens), tools_(tools), clock_(clock) {}

    /// A qualified name of such a device, whatever the tool, and the plain names that it had.
    std::vector<std::shared_ptr<const core::Tool>> meant_by(
        std::string_view name, std::string_view provider) const override;

private:
    using Tenants = std::vector<TenantId>;
    using ByDevice = std::map<std::string, Tenants, std::less<>>;
    std::shared_ptr<const ByDevice> welcome() const;

    const trust::Tokens& tokens_;
    const trust::DeviceTools& tools_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    /// Devices with a live token and their tenants, as of `epoch_`
    mutable std::shared_ptr<const ByDevice> welcome_;
    mutable std::uint64_t epoch_ = 0;
};

}  // namespace crab::gateway
