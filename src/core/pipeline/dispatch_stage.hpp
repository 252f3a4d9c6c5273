#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/result_check.hpp"
#include "core/pipeline/stage.hpp"

#include <cstdint>

namespace crab::core {

/// Sends the call to the tool's host and retries if that is safe and there is time; the only place
/// that retries.
class DispatchStage {
public:
    DispatchStage(LoopServices& loop, ResultCheck& results) : loop_(loop), results_(results) {}

    /// Returns the checked result of the last attempt, never null.
    Task<OutcomeRef> pass(RecordedCall recorded, FrameSink& sink, CallInProgress& progress);

private:
    /// What to do after a failed attempt.
    enum class Next : std::uint8_t { kTryAgain, kGiveUp, kCancelled };

    Task<OutcomeRef> between_events(AdmittedCall admitted, FrameSink& sink,
                                    CallInProgress& progress);
    Task<OutcomeRef> attempts(AdmittedCall admitted, FrameSink& sink, CallInProgress& progress);
    void note_attempt(const Outcome& outcome, SteadyTime sent, CallInProgress& progress);
    Task<Next> wait_for_next(AdmittedCall& admitted, Error error, CallInProgress& progress);
    SteadyTime next_attempt_at(int attempt, const Error& error, const CallInProgress& progress);

    LoopServices& loop_;
    ResultCheck& results_;
};

}  // namespace crab::core
