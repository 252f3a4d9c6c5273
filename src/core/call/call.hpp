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
class Inquirer;
class ToolScope;

/// The context of a call, as stated by its caller; empty where not stated.
struct CallContext {
    std::string_view agent_id, session_id, platform, channel_id, actor_id, isolation_key, trace_id,
        request_origin;
};

/// The program at the caller's end as it describes itself, and what it speaks here: for records and
/// for people, for nobody vouches for it.
struct CallClient {
    std::string_view name, version;  ///< empty where not stated
    std::string_view revision, era;  ///< of its protocol, static text; empty: that has none
};

/// The server that a host has passed a call on to, for records.
struct CallUpstream {
    std::string tool;  ///< its own name of what ran; empty: the host is the end of the way
    std::string_view revision, era;  ///< of its protocol, static text; empty: it was not reached
};

/// The caller's requested execution policy; pipeline and host may only tighten it.
struct ExecutionPolicy {
    std::optional<std::uint32_t> max_retries;
    std::string_view backoff, network_policy, privilege_level;
    bool worktree_required = false;
    std::uint64_t budget_cpu_ms = 0, budget_wall_ms = 0;
};

/// One request to run one tool, under one id. Owned by its front while the pipeline is awaited; its
/// views point into text that the front keeps alive.
struct Call {
    Call() = default;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    std::string_view id;  ///< the caller's; empty: the pipeline sets a UUIDv7
    std::string_view tool;  ///< as named by the caller
    std::string_view provider_id;  ///< narrows `tool` to one source; empty: any
    std::string_view args;  ///< a JSON object, the bytes received; empty or `null` stand for `{}`
    /// Media type, in lower case, of `body`; empty: the arguments are `args`
    std::string_view body_type;
    /// Arguments that are not JSON, for a tool that accepts them; `args` is then `{}`
    std::string_view body;
    /// Its agent is resolved by the pipeline (core/policy/agent_claim.hpp)
    CallContext context;
    /// Whether the principal may act for `context.agent_id`; set by the front or the pipeline
    bool acts_for_agent = false;
    std::string_view claimed_agent;  ///< as claimed by the caller; for display only
    std::string_view tenant;
    std::string_view idempotency_key;
    std::string_view traceparent;
    std::optional<Milliseconds> timeout;  ///< requested by the caller, capped by the tool's maximum
    Deadline caller_deadline = kNoDeadline;
    /// Called when `caller_deadline` has passed and the call continues for others that have joined
    /// it: the front then answers kTimeout and ignores the pipeline's result. Empty: the deadline
    /// applies to the call itself.
    std::function<void()> on_overtime;
    ExecutionPolicy policy;
    bool wants_stream = false;
    std::string_view prefer_source;  ///< resolves an ambiguous plain name to this source
    ConnectionId prefer_connection{};  ///< and to this connection of a device
    /// Restricts the tools further; null: no restriction
    const ToolScope* scope = nullptr;
    /// The front it came through: `http`, `chat`, … (for the audit record)
    std::string_view front;
    CallClient client;  ///< set by fronts whose callers say such things

    /// Cancels the coroutine that awaits the pipeline; set by the front, for cancellation by id.
    CancelSignal* canceller = nullptr;

    /// The person at the caller's side who can approve; null: nobody. Must outlive the call.
    Approver* approver = nullptr;
    /// Who can be asked for more input while it runs; null: nobody. Must outlive the call.
    Inquirer* inquirer = nullptr;
    /// Answers, a JSON object, to questions that an MCP server asked by ending an earlier call,
    /// and the state that it gave with them; for that server only.
    std::string_view input_responses, request_state;

    /// Waiting for an approval does not count against the timeout (docs/protocols/sw4rm.md, section
    /// 4); `caller_deadline` holds.
    bool approval_stops_clock = false;

    /// `args` if already parsed by the front, with a shared parser, and without duplicate names.
    std::optional<json::Borrowed> parsed_args;

    /// Set by the pipeline while the call is dispatched and repeats may join it.
    FirstCaller* first = nullptr;

    Timeline timeline;  ///< filled by the pipeline
    Milliseconds cpu_spent{0};  ///< by ended attempts, as reported by hosts
    CallUpstream upstream;  ///< of the last attempt, as reported by its host

    /// Size of the arguments in bytes, as received.
    std::size_t arguments_size() const { return body_type.empty() ? args.size() : body.size(); }

    // Values created by the pipeline; `id`, `context.agent_id` and `args` may point here.
    UuidText made_id;
    std::array<char, 256> made_agent;
    std::string replaced_args;
};

}  // namespace crab::core
