#pragma once

#include "core/approvals/approval.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Waits for an approval if a rule or the call's labels require one. Afterwards it checks again
/// what may have changed, so that the approved call is the one that runs.
class ApproveStage {
public:
    ApproveStage(LoopServices& loop, AuthorizeStage& authorize)
        : loop_(loop), authorize_(authorize) {}

    /// Ends with an error naming the approval request unless it was allowed, and with kUnavailable
    /// when the tool or the rules have changed meanwhile.
    Step<ApprovedCall> pass(UniqueCall unique, CallInProgress& progress);

private:
    Task<Reached<ApprovedCall>> ask(AuthorizedCall authorized, CallInProgress& progress);
    Task<ApprovalEnd> wait_for_answer(ApprovalQuestion question, CallInProgress& progress);
    Result<ApprovalQuestion> question_of(const AuthorizedCall& authorized,
                                         CallInProgress& progress);
    Result<AuthorizedCall> check_again(const AuthorizedCall& authorized,
                                       const ApprovalSubject& approved, CallInProgress& progress);

    LoopServices& loop_;
    AuthorizeStage& authorize_;
};

}  // namespace crab::core
