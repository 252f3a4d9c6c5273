#pragma once

#include "core/approvals/approval.hpp"
#include "core/call/call.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"
#include "core/policy/policy.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// What the pipeline learned about a call beside its timeline: the answer to "who ran what, and why
/// was it allowed".
struct CallFacts {
    struct HookNote {
        std::string hook, answer;
        std::chrono::nanoseconds took{0};
    };
    struct Attempt {
        std::chrono::nanoseconds took{0};
        Status status = Status::kOk;
        ErrorCode code = ErrorCode::kInternal;  ///< when status is not kOk
    };
    ToolRef tool;  ///< null when the name led nowhere
    Decision decision{Verdict::kDeny, {}};
    std::vector<HookNote> hooks;
    std::optional<ApprovalEnd> approval;  ///< what came of it, when the call needed one
    std::vector<Attempt> attempts;  ///< those before the last; the last is `last`
    Attempt last;
    std::shared_ptr<const EffectivePolicy> policy;  ///< null when nobody enforces one
    std::optional<FrameSink::Sent> sent;  ///< of a stream
    /// Why it was ended from its caller's end, where that is more than its code says
    std::string_view cause;
    std::string_view cancelled_by;  ///< the principal who cancelled it by its id
    bool dispatched = false;
    bool replayed = false;
};

/// Appends the audit record of a call as one JSON object, `call_id` first. Arguments and results
/// appear as sizes only. `outcome` null: the call is about to be dispatched (the record that side
/// effects need).
void append_call_record(std::string& out, const Call& call, const Principal& principal,
                        const CallFacts& facts, const Outcome* outcome);

/// The id of the call that a record is about.
std::optional<std::string> call_id_of(std::string_view record);

}  // namespace crab::core
