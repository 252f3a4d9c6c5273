#include "gateway/operator/config_changes.hpp"

#include "base/log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::gateway {

ConfigChanges config_changes(std::span<const ConfigKey> keys, const config::GatewayConfig& before,
                             const config::GatewayConfig& after) {
    ConfigChanges changes;
    for (const ConfigKey& key : keys) {
        if (!key.differs(before, after)) continue;
        (key.effect == KeyEffect::kReload ? changes.now : changes.at_next_start)
            .push_back(key.name);
    }
    return changes;
}

Result<void> reload_components(runtime::Lifecycle& lifecycle, std::span<const ConfigKey> keys,
                               const config::GatewayConfig& start, config::GatewayConfig next) {
    for (const ConfigKey& key : keys)
        if (key.effect == KeyEffect::kRestart) key.copy(start, next);
    return lifecycle.reload(next);
}

void log_reload(const std::filesystem::path& file, std::span<const std::string_view> changed,
                std::span<const std::string_view> waiting) {
    if (!waiting.empty())
        log::warn("some changes of the configuration take effect with the next start",
                  {{"keys", fmt::format("{}", fmt::join(waiting, ", "))}});
    log::info("configuration reloaded",
              {{"file", file.string()},
               {"changed", changed.empty() ? "nothing that counts at once"
                                           : fmt::format("{}", fmt::join(changed, ", "))}});
}

}  // namespace crab::gateway
