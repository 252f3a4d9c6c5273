#pragma once

#include "core/approvals/approval.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Somebody's word, if a rule or the tool's labels ask for it. What was approved is what runs: what
/// may have changed during the wait is looked at again.
class ApproveStage {
public:
    ApproveStage(LoopServices& loop, AuthorizeStage& authorize)
        : loop_(loop), authorize_(authorize) {}

    /// Ends with what became of the question when that is not an allowance (its details name it),
    /// and with kUnavailable when the tool or the rules changed meanwhile.
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
