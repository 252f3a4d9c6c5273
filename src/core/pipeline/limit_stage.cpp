#include "core/pipeline/limit_stage.hpp"

#include <utility>

namespace crab::core {

Step<AdmittedCall> LimitStage::pass(ApprovedCall approved, CallInProgress& progress) {
    const auto& gate = progress.tool->gate;
    if (!gate) return admit(approved, progress);
    auto permit = gate->try_enter();
    if (!permit) return wait_in_queue(approved, progress);
    progress.permit = std::move(*permit);
    return admit(approved, progress);
}

Task<Reached<AdmittedCall>> LimitStage::wait_in_queue(ApprovedCall approved,
                                                      CallInProgress& progress) {
    auto entered = co_await progress.tool->gate->enter(progress.loop.timers, progress.deadline);
    if (!entered) co_return end_with(std::move(entered.error()));
    progress.permit = std::move(*entered);
    progress.look_at_the_clock();
    co_return admit(approved, progress);
}

AdmittedCall LimitStage::admit(ApprovedCall approved, CallInProgress& progress) {
    progress.reach(Stage::kLimited);
    return {approved, progress.deadline, progress.place, progress.late};
}

Result<void> LimitStage::count(CallInProgress& progress) {
    if (std::exchange(progress.counted, true)) return {};
    return progress.rules->rates->take(*progress.principal, *progress.facts.tool, progress.now);
}

MaybeTask<bool> LimitStage::move_permit(const Tool& next, CallInProgress& progress) {
    if (next.gate == progress.facts.tool->gate) return true;
    progress.permit = {};
    if (!next.gate) return true;
    return enter(next, progress);
}

Task<bool> LimitStage::enter(const Tool& next, CallInProgress& progress) {
    auto entered = co_await next.gate->enter(progress.loop.timers, progress.deadline);
    if (entered) progress.permit = std::move(*entered);
    co_return entered.has_value();
}

}  // namespace crab::core
