#include "core/pipeline/call_in_progress.hpp"

#include "core/call/effects_lease.hpp"
#include "core/call/long_call.hpp"
#include "core/pipeline/call_endings.hpp"

#include <algorithm>
#include <utility>

namespace crab::core {
namespace {

constexpr Milliseconds kAfterwards{50};  // a reply leaves so long after the deadline (rtp.md, 3)

}  // namespace

LedgerKey ledger_key(const Call& call, const Principal& principal) {
    return {.tenant = call.tenant,
            .principal = principal.id,
            .key = call.idempotency_key.empty() ? call.id : call.idempotency_key};
}

CallInProgress::CallInProgress(AuthenticatedCall arrived, LoopServices& services,
                               WhileRunning while_running, TaskChain& tasks)
    : loop(services),
      chain(tasks),
      authenticated(arrived),
      principal(arrived.principal()),
      rules(arrive(arrived, services)),
      entry(services.running, arrived.call(), *principal),
      args(services.arguments, arrived.call()),
      now(arrived.call().timeline.started()),
      repeats(while_running),
      key(ledger_key(arrived.call(), *principal)),
      repeatable(!arrived.call().idempotency_key.empty() ||
                 arrived.call().id.data() != arrived.call().made_id.view().data()) {}

std::shared_ptr<const CallRules> CallInProgress::arrive(AuthenticatedCall authenticated,
                                                        LoopServices& loop) {
    Call& call = authenticated.call();
    if (call.id.empty()) {
        call.made_id = loop.ids.uuid_v7();
        call.id = call.made_id.view();
    }
    call.timeline.start(loop.now(), loop.shared.clock.system_now());
    auto rules = loop.rules.get();
    if (call.tenant.empty()) call.tenant = rules->policy->home_tenant(*authenticated.principal());
    return rules;
}

void CallInProgress::reach(Stage stage) {
    call().timeline.reach(stage, now);
    entry.reach(stage);
}

void CallInProgress::reach_now(Stage stage) {
    look_at_the_clock();
    reach(stage);
}

View CallInProgress::view(const Policy& of) const {
    return {.principal = principal.get(),
            .policy = &of,
            .tenant = call().tenant,
            .prefer_source = call().prefer_source,
            .prefer = call().prefer_connection,
            .scope = call().scope};
}

Result<void> CallInProgress::bind_policy() {
    if (!facts.tool->limits) return {};
    auto effective = effective_policy(*facts.tool->limits, call().policy, call().timeout);
    if (!effective) return fail(std::move(effective.error()));
    policy = std::make_shared<const EffectivePolicy>(std::move(*effective));
    return {};
}

void CallInProgress::set_deadline(std::chrono::nanoseconds waited) {
    limit = call().timeline.started() + allowed + waited;
    deadline = std::min(call().caller_deadline, limit);
}

Deadline CallInProgress::afterwards_until() const {
    return std::max(deadline, loop.now() + kAfterwards);
}

/// What is taken up again was approved before it was sent.
bool CallInProgress::needs_approval() const {
    if (!resumed_by(call()).empty()) return false;
    return facts.decision.verdict == Verdict::kNeedsApproval ||
           (policy && policy->needs_approval());
}

RightToSend CallInProgress::right_to_send() const {
    const EffectsLease* const lease = loop.shared.lease;
    if (lease == nullptr || !journal_ref) return {};
    return {*lease, incarnation};
}

bool CallInProgress::is_fenced_off() const {
    const EffectsLease* const lease = loop.shared.lease;
    return lease != nullptr && lease->incarnation() != incarnation;
}

void CallInProgress::forget_record() const {
    if (journal_ref) loop.shared.journal->release(journal_ref);
}

Error CallInProgress::given_up() const {
    return out_of_time()
               ? fail(ErrorCode::kTimeout, "the deadline passed while the call ran").error()
               : cancelled();
}

}  // namespace crab::core
