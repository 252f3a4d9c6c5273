#include "gateway/rules/current_rules.hpp"

#include "gateway/rules/call_rules.hpp"
#include "gateway/rules/hooks.hpp"

namespace crab::gateway {

std::span<const ConfigKey> CurrentRules::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("calls.max_retries", [](auto& c) -> auto& { return c.calls.max_retries; }),
        reload_key("limits.result_bytes", [](auto& c) -> auto& { return c.limits.result_bytes; }),
        reload_key("rates", [](auto& c) -> auto& { return c.rates; }),
        reload_key("policy", [](auto& c) -> auto& { return c.policy; }),
        reload_key("peers", [](auto& c) -> auto& { return c.peers; }),
        reload_key("hooks", [](auto& c) -> auto& { return c.hooks; })};
    return kKeys;
}

Result<void> CurrentRules::start() {
    hook_pool_ = std::make_unique<BlockingPool>(threads_of(context_.config.hooks));
    auto made = make_call_rules(context_.config, *hook_pool_);
    if (!made) return fail(std::move(made.error()));
    rules_ = std::make_unique<Published<core::CallRules>>(*made);
    away_ = std::make_unique<core::AwayCalls>(*rules_);
    return {};
}

Result<Component::Change> CurrentRules::prepare(const config::GatewayConfig& next) {
    auto made = make_call_rules(next, *hook_pool_, rules_->get().get());
    if (!made) return fail(std::move(made.error()));
    return [this, rules = std::move(*made)] {
        rules_->set(rules);
        context_.registry.changes().notify();  // what callers see may be another
    };
}

void CurrentRules::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_calls_waiting_for_devices", "gauge",
                            "Calls that wait for a device that is away.",
                            static_cast<double>(away_->waiting()));
    });
}

}  // namespace crab::gateway
