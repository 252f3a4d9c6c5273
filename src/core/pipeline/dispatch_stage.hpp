#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/result_check.hpp"
#include "core/pipeline/stage.hpp"

#include <cstdint>

namespace crab::core {

/// The call goes to the tool's host, again if that is safe and there is time; nobody else retries.
class DispatchStage {
public:
    DispatchStage(LoopServices& loop, ResultCheck& results) : loop_(loop), results_(results) {}

    /// Gives the checked result of the last attempt, never null.
    Task<OutcomeRef> pass(RecordedCall recorded, FrameSink& sink, CallInProgress& progress);

private:
    /// What is to be done after an attempt that failed.
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
