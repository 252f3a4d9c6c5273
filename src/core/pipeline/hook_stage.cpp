#include "core/pipeline/hook_stage.hpp"

#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_endings.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace crab::core {

bool HookStage::apply(const CallRules& rules, const Tool& tool) {
    return std::ranges::any_of(rules.hooks,
                               [&](const auto& hook) { return hook->applies_to(tool); });
}

Step<HookedCall> HookStage::pass(AuthorizedCall authorized, CallInProgress& progress) {
    if (!apply(*progress.rules, authorized.tool())) return HookedCall(authorized);
    return ask_in_time(authorized, progress);
}

Task<Reached<HookedCall>> HookStage::ask_in_time(AuthorizedCall authorized,
                                                 CallInProgress& progress) {
    auto hooked = co_await ask(authorized, progress);
    if (hooked) progress.reach_now(Stage::kHooked);
    co_return hooked;
}

Task<Reached<HookedCall>> HookStage::ask(AuthorizedCall authorized, CallInProgress& progress) {
    progress.hooked = true;
    Call& call = progress.call();
    const ToolRef tool = progress.facts.tool;
    const Milliseconds allowed =
        std::min(call.timeout.value_or(tool->spec.default_timeout), tool->spec.max_timeout);
    const Deadline deadline = std::min(call.caller_deadline, call.timeline.started() + allowed);
    for (const auto& hook : progress.rules->hooks) {
        if (!hook->applies_to(*tool)) continue;
        const SteadyTime before = progress.loop.now();
        HookAnswer answer = Proceed{};
        try {
            HookView view{.call = call,
                          .tool = *tool,
                          .principal = *progress.principal,
                          .deadline = deadline,
                          .timers = progress.loop.timers};
            answer = co_await hook->before(view);
        } catch (...) {
            log_thrown("a hook failed before a call, which is denied", hook->name(), call);
            answer = Deny{fmt::format("the hook {} failed", hook->name())};
        }
        const auto note = [&](std::string_view word) {
            progress.facts.hooks.push_back(
                {std::string(hook->name()), std::string(word), progress.loop.now() - before});
        };
        if (auto* deny = std::get_if<Deny>(&answer)) {
            note("deny");
            co_return end_with(deny->code, deny->reason.empty()
                                               ? fmt::format("denied by the hook {}", hook->name())
                                               : std::move(deny->reason));
        }
        if (auto* replace = std::get_if<Replace>(&answer)) {
            note("replace");
            progress.args.replace(std::move(replace->args));
            auto decided = AuthorizeStage::decide(tool, progress);
            if (!decided) co_return end_with(std::move(decided.error()));
        } else {
            note("proceed");
        }
        if (progress.chain.cancelled()) co_return end_with(cancelled());
    }
    co_return HookedCall(authorized);
}

Task<void> HookStage::tell(const Outcome& outcome, CallInProgress& progress) {
    const ToolRef tool = progress.facts.tool;
    const Deadline deadline = progress.afterwards_until();  // for all together
    for (const auto& hook : progress.rules->hooks) {
        if (!hook->applies_to(*tool)) continue;
        try {
            HookView view{.call = progress.call(),
                          .tool = *tool,
                          .principal = *progress.principal,
                          .deadline = deadline,
                          .timers = progress.loop.timers};
            co_await hook->after(view, outcome);
        } catch (...) {
            log_thrown("a hook failed after a call", hook->name(), progress.call());
            progress.facts.hooks.push_back(
                {std::string(hook->name()), "failed after the call", {}});
        }
    }
}

}  // namespace crab::core
