#pragma once

#include "base/published.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/registry/registry.hpp"
#include "fleet/directory.hpp"

#include <atomic>
#include <chrono>
#include <string>

namespace crab::fleet {

/// Finds tools of other nodes where Catalogue has put them: in this node's registry, by the names
/// and rules by which the pipeline finds those that are here. A tool that nobody knows is waited
/// for while the node has not read yet who has which, kPatience at most. Used on one loop.
class RegistryDirectory final : public Directory {
public:
    static constexpr std::chrono::seconds kPatience{3};

    struct Uses {
        const Published<core::RegistrySnapshot>& registry;
        const Published<core::CallRules>& rules;
        const std::atomic<bool>& known;  ///< Catalogue::known()
        const Clock& clock;
        TimerWheel& timers;
    };
    explicit RegistryDirectory(const Uses& uses)
        : registry_(uses.registry),
          rules_(uses.rules),
          known_(uses.known),
          clock_(uses.clock),
          timers_(uses.timers) {}

    Task<std::optional<Route>> find(const core::Call& call,
                                    const core::Principal& principal) override;

private:
    struct Found {
        Result<core::ToolRef> tool;
        std::string tenant;
    };
    Found look(const core::Call& call, const core::Principal& principal);
    Task<void> wait_known();

    Published<core::RegistrySnapshot>::Reader registry_;
    Published<core::CallRules>::Reader rules_;
    const std::atomic<bool>& known_;
    const Clock& clock_;
    TimerWheel& timers_;
};

}  // namespace crab::fleet
