#include "gateway/state_folder.hpp"

#include "base/process/folder_lock.hpp"

namespace crab::gateway {

std::span<const ConfigKey> StateFolder::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {
        restart_key("gateway.state_dir", [](Config c) { return c.gateway.state_dir; }),
        restart_key("gateway.runtime_dir", [](Config c) { return c.gateway.runtime_dir; })};
    return kKeys;
}

Result<void> StateFolder::start() {
    auto locked = lock_folder(context_.paths.state_dir);
    if (!locked) return fail(std::move(locked.error()));
    lock_ = std::move(*locked);
    return {};
}

void StateFolder::stop(Deadline) { lock_ = {}; }

}  // namespace crab::gateway
