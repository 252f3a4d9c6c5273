#pragma once

#include "base/task/task.hpp"
#include "core/call/admitted_call.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_services.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::core {

/// What would become of a call up to where it is asked about, sent or counted.
struct CheckedCall {
    ToolRef tool;  ///< null: the name does not resolve
    /// What the call would end with; nothing: it would be asked about or run, unless a hook, a
    /// limit or the host refuses it
    std::optional<Error> refusal;
    /// Whether the arguments are what the tool takes, also when the policy denies the call
    bool valid = false;
    std::string violations;  ///< a JSON array as in the details of kInvalidArgs; empty: none
    struct Decided {
        Verdict verdict = Verdict::kDeny;
        std::string rule;
    };
    std::optional<Decided> decision;  ///< nothing: it does not come to one
    bool needs_approval = false;
    std::vector<std::string> hooks;  ///< that would see the call; none of them runs
};

/// Checks calls with the stages of the pipeline that precede anything which waits or can be seen:
/// nothing runs, is recorded, counted or asked. On one event loop. A checked call is in no list of
/// running calls, so nobody can take it for one.
class CallCheck {
public:
    CallCheck(CallServices services, const Executor& home, TimerWheel& timers, IdSource& ids)
        : loop_(services, home, timers, ids), authorize_(loop_) {}

    /// `call` and what it views must live until then. Never waits.
    Task<CheckedCall> check(AuthenticatedCall call);

private:
    LoopServices loop_;
    AuthorizeStage authorize_;
};

}  // namespace crab::core
