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

/// Facts about a call that the pipeline collects for its audit record: who ran what, and why it was
/// allowed.
struct CallFacts {
    struct HookNote {
        std::string hook, answer;
        std::chrono::nanoseconds took{0};
    };
    struct Attempt {
        std::chrono::nanoseconds took{0};
        Status status = Status::kOk;
        ErrorCode code = ErrorCode::kInternal;  ///< when status is not kOk
        /// When it began, after the call's arrival; not of the last, whose stage tells it
        std::optional<std::chrono::nanoseconds> at{};
    };
    ToolRef tool;  ///< null when the name did not resolve
    Decision decision{Verdict::kDeny, {}};
    std::vector<HookNote> hooks;
    std::optional<ApprovalEnd> approval;  ///< if the call needed one
    std::vector<Attempt> attempts;  ///< all but the last, which is `last`
    Attempt last;
    std::shared_ptr<const EffectivePolicy> policy;  ///< null when none is enforced
    std::optional<FrameSink::Sent> sent;  ///< of a stream
    /// Why its caller's side ended it, if that adds to the code
    std::string_view cause;
    std::string_view cancelled_by;  ///< the principal that cancelled it by id
    unsigned input_rounds = 0;  ///< how often its caller was asked for more while it ran
    bool dispatched = false;
    bool replayed = false;
};

/// Appends the audit record of a call as one JSON object, `call_id` first. Arguments and results
/// appear as sizes only, what its caller was asked as a count. `outcome` null: the call is about to
/// be dispatched (the record that side effects need).
void append_call_record(std::string& out, const Call& call, const Principal& principal,
                        const CallFacts& facts, const Outcome* outcome);

/// The id of the call that a record is about.
std::optional<std::string> call_id_of(std::string_view record);
/// Whether such a record was written before its call ran, so that a crash loses no trace of it.
bool is_begin_record(std::string_view record);

}  // namespace crab::core
