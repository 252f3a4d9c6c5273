#pragma once

#include "adapters/mcp/wire/header_params.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/inquirer.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// Of a tool's `taskSupport`, and what its caller can do.
enum class TaskUse : std::uint8_t {
    kNone,
    kIfDeclared,  ///< the caller can wait: a task, if the server has declared them
    kAlways,      ///< the tool runs as nothing else
};

/// One request to an upstream, whatever its era. Its pointers hold until the reply is there.
struct UpstreamRequest {
    std::string method;
    std::string params;  ///< an object without `_meta`; empty: none
    std::string meta;    ///< members to add to `_meta`, an object; may be empty
    std::string name;    ///< `Mcp-Name`, if the method has one: the upstream's name, not encoded
    HeaderLines param_headers;  ///< `Mcp-Param-*`, of make_param_headers()
    /// Running it twice does no harm: then a lost one is sent once more, under a new id
    bool may_repeat = false;
    Deadline deadline = kNoDeadline;
    core::FrameSink* sink = nullptr;  ///< progress and log are asked for as it wants; null: nobody
    core::Inquirer* inquirer = nullptr;  ///< who answers the upstream's questions; null: nobody
    std::string traceparent;  ///< may be empty
    /// What a caller brings itself for a round that was not parked here: an object, and JSON (a
    /// string); forwarded as they are, to modern upstreams only. Empty: none.
    std::string input_responses, request_state;
    /// The upstream's task that an earlier request of this kind became: it is waited for, and
    /// nothing is called. Empty: none.
    std::string task;
    /// Whether it is to be a task of a 2025-11-25 server; later ones decide that themselves
    TaskUse task_use = TaskUse::kNone;
};

/// The result object as it came, with `_meta` and `resultType`; or the upstream's own error. Of the
/// errors -32020 says that the tool's headers are outdated and that nothing has run: read
/// `tools/list` again, make the headers anew and send once more.
using UpstreamReply = std::expected<std::string, RpcError>;

/// How an upstream was reached, so that the next connection need not probe (section 2.8).
struct FoundEra {
    enum class Form : std::uint8_t { kModern, kLegacy, kSse };

    Form form = Form::kModern;
    Revision revision = Revision::k2026_07_28;

    friend bool operator==(const FoundEra&, const FoundEra&) = default;
};

/// Told of what an upstream says outside of requests, on the session's event loop. It must not
/// close or destroy the session from inside these functions.
class UpstreamListener {
public:
    virtual ~UpstreamListener() = default;
    /// A change, or an unknown notification; progress and log of running requests go to their
    /// sinks. `params`: an object, or empty; valid during the call.
    virtual void on_notification(std::string_view method, std::string_view params) = 0;
    /// The session is of no further use: the child has ended, the stream broke, the upstream has
    /// forgotten it. Once; running requests are settled right after. Not after close().
    virtual void on_end(const Error& why) = 0;
};

/// An open conversation with one upstream. It belongs to the event loop it was opened on: all
/// functions are called there, and there sinks and inquirers are called. Every request ends: with a
/// reply, or an error when its deadline passes, the session ends or its coroutine is cancelled.
/// Source: docs/protocols/mcp.md, sections 2.3 to 2.7, 4.6 to 4.8, 7.4.
class UpstreamSession {
public:
    virtual ~UpstreamSession() = default;

    /// Runs one request to its end: rounds of questions (section 4.8) and tasks of the upstream
    /// (section 4.7, `sink->on_deferred()` first) included. Any number at once. Cancelling the
    /// coroutine cancels it upstream in the era's form. For a change stream of a modern upstream
    /// send `subscriptions/listen` without deadline: its notifications go to the listener.
    /// Errors: kUnavailable (certainly not delivered, or refused unrun, with retry_after if the
    /// upstream said when), kOutcomeUnknown (may have run; for requests that may_repeat it is
    /// kUnavailable), kTimeout, kCancelled, kOversize, kAuthRequired, kToolFailed (not MCP, an
    /// unknown result type, too many rounds, questions that nobody can answer).
    virtual Task<Result<UpstreamReply>> request(UpstreamRequest request) = 0;
    /// Sends a notification, as far as the upstream is there: `params` an object or empty.
    virtual void notify(std::string_view method, std::string_view params) = 0;

    virtual FoundEra found() const = 0;
    Revision revision() const { return found().revision; }
    Era era() const { return era_of(revision()); }
    /// What the upstream said when the session was opened: objects, possibly empty.
    virtual const std::string& server_capabilities() const = 0;
    virtual const std::string& server_info() const = 0;
    virtual const std::string& instructions() const = 0;
    virtual bool is_open() const = 0;
    /// Since when no request has run; nothing while one does.
    virtual std::optional<SteadyTime> quiet_since() const = 0;
    /// The last that a child wrote to its standard error, at most 64 KiB; empty without child.
    virtual std::string error_tail() const { return {}; }

    /// Null: nobody. It must outlive the session or be taken away.
    virtual void set_listener(UpstreamListener* listener) = 0;
    /// Ends running requests as kUnavailable or kOutcomeUnknown, tells the upstream, stops its
    /// child. To be awaited before destruction, once; a cancellation does not shorten it.
    virtual Task<void> close() = 0;
};

}  // namespace crab::mcp
