#include "gateway/rules/call_rules.hpp"

#include "gateway/rules/hooks.hpp"
#include "setup/policy_rules.hpp"

#include <algorithm>

namespace crab::gateway {
namespace {

constexpr std::size_t kLeastOfOne = 8;  // of the listener's connections, however few it has

}  // namespace

Result<std::shared_ptr<const core::CallRules>> make_call_rules(const config::GatewayConfig& config,
                                                               BlockingPool& pool,
                                                               const core::CallRules* before) {
    auto policy = setup::make_policy(config);
    if (!policy) return fail(std::move(policy.error()));
    std::vector<core::RateRule> rates;
    for (const auto& rate : config.rates) {
        rates.push_back({.principal = Glob(rate.principal),
                         .tool = Glob(rate.tool),
                         .per_second = rate.per_second,
                         .burst = rate.burst});
    }
    auto call_rules = std::make_shared<core::CallRules>();
    call_rules->policy = std::move(*policy);
    call_rules->rates = std::make_shared<core::RateLimits>(
        std::move(rates), before != nullptr ? before->rates.get() : nullptr);
    call_rules->max_retries = static_cast<std::uint32_t>(config.calls.max_retries);
    call_rules->max_result_bytes = config.limits.result_bytes;
    for (const auto& hook : config.hooks) {
        auto made = make_hook(hook, pool);
        if (!made) return fail(std::move(made.error()));
        call_rules->hooks.push_back(std::move(*made));
    }
    return call_rules;
}

std::shared_ptr<const clawseed::Options> make_clawseed_options(
    const config::GatewayConfig& config) {
    auto options = std::make_shared<clawseed::Options>();
    options->path_prefix = config.listen.path_prefix;
    options->allowed_origins = config.listen.allowed_origins;
    options->host_names = config.listen.host_names;
    options->open_loopback = config.listen.open_loopback;
    options->query_token = config.devices.query_token;
    options->permessage_deflate = config.devices.permessage_deflate;
    options->max_message_bytes = config.limits.message_bytes;
    options->json_depth = config.limits.json_depth;
    options->max_connections_per_principal =
        std::min(config.listen.max_connections_per_principal,
                 std::max(config.listen.max_connections / 4, kLeastOfOne));
    options->calls_per_connection = config.limits.calls_per_connection;
    options->waiting_turns = config.limits.waiting_turns;
    options->grace = config.devices.grace;
    options->ping_after = std::chrono::duration_cast<Milliseconds>(config.devices.ping_after);
    options->registration = {.tools = config.limits.tools_per_connection,
                             .name_bytes = config.limits.tool_name,
                             .description_bytes = config.limits.description_bytes,
                             .parameters_bytes = config.limits.parameters_bytes,
                             .parameters_depth = 32,
                             .default_timeout = config.calls.default_timeout,
                             .max_timeout = config.calls.max_timeout};
    options->give_titles = true;
    options->ask_about_new_tools = config.approvals.new_tools == config::NewToolRule::kAsk;
    options->owners_approve = config.approvals.in_chat == config::ChatApprover::kOwner;
    for (const auto& agent : config.agents) options->personas.push_back(agent.name);
    options->artifact_inline_bytes = config.artifacts.inline_bytes;
    options->artifact_bytes = config.artifacts.max_bytes;
    options->uploads_at_once = config.artifacts.uploads;
    for (const auto& rule : config.tools) {
        clawseed::ToolOverride made{.match = Glob(rule.match),
                                    .timeout = rule.timeout,
                                    .max_timeout = rule.max_timeout,
                                    .max_concurrency = {},
                                    .queue = rule.queue,
                                    .trust_annotations = rule.trust_annotations,
                                    .idempotent = rule.idempotent,
                                    .side_effects = rule.side_effects};
        if (rule.max_concurrency)
            made.max_concurrency = static_cast<std::uint32_t>(*rule.max_concurrency);
        options->overrides.push_back(std::move(made));
    }
    return options;
}

}  // namespace crab::gateway
