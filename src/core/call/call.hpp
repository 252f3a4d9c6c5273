#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/id_source.hpp"
#include "core/call/principal.hpp"
#include "core/call/timeline.hpp"
#include "core/call/tool_result.hpp"
#include "json/parser.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crab {
class CancelSignal;
}

namespace crab::core {

class Approver;
class FirstCaller;
class ToolScope;

/// Whom and what a call belongs to, as its caller says. Empty where unsaid.
struct CallContext {
    std::string_view agent_id, session_id, platform, channel_id, actor_id, isolation_key, trace_id,
        request_origin;
};

/// What a caller asks of the execution; the effective values are made by the pipeline and the host,
/// and only ever tighter.
struct ExecutionPolicy {
    std::optional<std::uint32_t> max_retries;
    std::string_view backoff, network_policy, privilege_level;
    bool worktree_required = false;
    std::uint64_t budget_cpu_ms = 0, budget_wall_ms = 0;
};

/// One request to run one tool, under one id. It lives in its front for as long as the pipeline is
/// awaited; its views point into text that the front keeps alive for that time.
struct Call {
    Call() = default;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    std::string_view id;  ///< the caller's; empty: the pipeline makes a UUIDv7 and sets it
    std::string_view tool;  ///< as the caller named it
    std::string_view provider_id;  ///< narrows `tool` to one source; empty: any
    std::string_view args;  ///< a JSON object, the bytes received; empty or `null` stand for `{}`
    /// Media type, in lower case, of `body`; empty: the arguments are `args`
    std::string_view body_type;
    /// Arguments that are no JSON, for a tool that accepts them; `args` is `{}` then
    std::string_view body;
    /// What of it names an agent is settled by the pipeline (core/policy/agent_claim.hpp)
    CallContext context;
    /// `context.agent_id` is an agent that the principal acts for: the word of a front that knows,
    /// else the pipeline's
    bool acts_for_agent = false;
    std::string_view claimed_agent;  ///< as the caller said it, to be shown and nothing else
    std::string_view tenant;
    std::string_view idempotency_key;
    std::string_view traceparent;
    std::optional<Milliseconds> timeout;  ///< the caller's wish, capped by the tool's maximum
    Deadline caller_deadline = kNoDeadline;
    /// Called when `caller_deadline` has passed and the call goes on for others who have joined it:
    /// the caller is answered with kTimeout now, and what the pipeline returns in the end is not
    /// for it. Empty: the deadline is one of the call.
    std::function<void()> on_overtime;
    ExecutionPolicy policy;
    bool wants_stream = false;
    std::string_view prefer_source;  ///< of several tools with the plain name, that of this source
    ConnectionId prefer_connection{};  ///< and among the connections of one device this one
    /// The caller's own narrowing of what it may reach; null: none
    const ToolScope* scope = nullptr;
    std::string_view front;  ///< which accent it came in: `http`, `chat`, … (for the audit record)

    /// What cancels the coroutine that awaits the pipeline; the front sets it, so that the call can
    /// be cancelled by its id.
    CancelSignal* canceller = nullptr;

    /// Who at the caller's end can be asked for an approval; null: nobody. Outlives the call.
    Approver* approver = nullptr;
    /// Waiting for an approval does not count against the timeout (docs/protocols/sw4rm.md, section
    /// 4); `caller_deadline` holds.
    bool approval_stops_clock = false;

    /// `args` parsed already by the front, with a parser that its other calls use too; it found no
    /// name twice in them.
    std::optional<json::Borrowed> parsed_args;

    /// Set by the pipeline while the call is out to its host and repeats may join it.
    FirstCaller* first = nullptr;

    Timeline timeline;  ///< filled by the pipeline
    Milliseconds cpu_spent{0};  ///< by attempts that have ended, as far as hosts say

    /// Bytes of the arguments, as they came.
    std::size_t arguments_size() const { return body_type.empty() ? args.size() : body.size(); }

    // What the pipeline had to make itself; `id`, `context.agent_id` and `args` may point here.
    UuidText made_id;
    std::array<char, 256> made_agent;
    std::string replaced_args;
};

}  // namespace crab::core
