#include "core/pipeline/admit_stage.hpp"

#include "core/call/long_call.hpp"
#include "core/ledger/ledger_content.hpp"
#include "core/pipeline/call_endings.hpp"
#include "core/pipeline/limit_stage.hpp"

#include <utility>

namespace crab::core {
namespace {

bool outlives_gateway(const Call& call) {
    const LongCall* const front = long_call_of(call);
    return front != nullptr && front->outlives_gateway();
}

}  // namespace

Step<UniqueCall> AdmitStage::pass(ValidatedCall validated, CallInProgress& progress) {
    if (auto known = identify(progress); !known) return end_with(std::move(known.error()));
    if (!progress.repeatable) return admit(validated, progress);
    auto answer = repeats_.ask(progress.content, progress);
    if (answer.admission != Admission::kNew) return repeat(validated, std::move(answer), progress);
    progress.ticket = std::move(answer.ticket);
    return admit(validated, progress);
}

/// What a repeat must agree in.
Result<void> AdmitStage::identify(CallInProgress& progress) const {
    const Call& call = progress.call();
    const Tool& tool = *progress.tool;
    const bool recorded =
        tool.spec.side_effects || !call.idempotency_key.empty() ||
        (tool.spec.may_have_effects() &&
         (outlives_gateway(call) || (loop_.shared.lease != nullptr && progress.repeatable)));
    progress.durable = recorded && loop_.shared.journal != nullptr;
    if (!recorded && !progress.repeatable) return {};
    const auto args = progress.args.read();
    if (!args) return fail(args.error());
    if (recorded) progress.digest = digest_of(call, tool, {}, args->element());
    progress.content =
        recorded ? content_of(progress.digest) : content_of(call, tool, args->element());
    return {};
}

Task<Reached<UniqueCall>> AdmitStage::repeat(ValidatedCall validated, Ledger::Answer first,
                                             CallInProgress& progress) {
    while (first.admission != Admission::kNew) {
        if (first.admission == Admission::kConflict && progress.durable) {
            // Memory knows the key of another tool's call; the one that is meant may be on disk.
            OutcomeRef known = co_await recall_.known_of(progress.tool, conflict(), progress);
            co_return end_with(known ? std::move(known) : ended(conflict()));
        }
        OutcomeRef known =
            co_await repeats_.outcome_of(std::move(first), progress.deadline, progress);
        if (known) co_return end_with(std::move(known));
        progress.look_at_the_clock();
        first = repeats_.ask(progress.content, progress);
    }
    progress.ticket = std::move(first.ticket);
    co_return admit(validated, progress);
}

Reached<UniqueCall> AdmitStage::admit(ValidatedCall validated, CallInProgress& progress) {
    progress.reach(Stage::kAdmitted);
    if (auto counted = LimitStage::count(progress); !counted)
        return end_with(std::move(counted.error()));
    return UniqueCall(validated);
}

}  // namespace crab::core
