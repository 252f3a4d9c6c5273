#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "core/call/principal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::core {

class Approver;
class Asker;

/// One question to the agent.
struct TurnRequest {
    PrincipalRef principal;
    std::string session_id;
    std::string turn_id{};                  ///< a UUID; also the trace of the turn's calls
    std::string persona;
    std::string content;                    ///< empty when `regenerate`
    std::string extra{};                    ///< further data, as in core::ChatMessage
    bool regenerate = false;
    bool debug = false;                     ///< report the first model request's prompt
    std::string_view front = "chat";  ///< the front it came through, for the audit log; a literal
    std::string prefer_source;  ///< resolves ambiguous tool names to this device
    ConnectionId prefer_connection{};
    /// Can approve the turn's calls; outlives the turn
    Approver* approver = nullptr;
    /// Can answer the agent's questions; outlives the turn
    Asker* asker = nullptr;
    /// Names the asker's span, under which the turn's stand; one that is malformed names none
    std::string traceparent{};
};

/// The cost of a turn, as reported by the model's vendor. Source: docs/protocols/clawseed.md,
/// section 2, `done`.
struct TurnMetrics {
    /// Of the last request to the model
    std::optional<std::int64_t> input_tokens{}, cached_input_tokens{};
    std::optional<std::int64_t> output_tokens{};  ///< of all of them
    Milliseconds generating{0};  ///< from the first piece of each answer to its end
    Milliseconds elapsed{0};
};

/// Receives the events of a running turn, on the loop that runs it.
class TurnEvents {
public:
    virtual ~TurnEvents() = default;
    virtual void on_debug_prompt(std::string_view messages_json, std::int64_t estimated_tokens) = 0;
    virtual void on_chunk(std::string_view text) = 0;
    virtual void on_thinking(std::string_view text) = 0;
    /// `args` is a JSON object. Of one batch all calls come first, in the model's order, then all
    /// results in the same order.
    virtual void on_tool_call(std::string_view id, std::string_view name,
                              std::string_view args) = 0;
    virtual void on_tool_result(std::string_view id, std::string_view name,
                                std::string_view output) = 0;
    /// Under which id the call `id`, which is told next, will be in the audit log.
    virtual void on_call_id(std::string_view id, std::string_view call_id) {
        static_cast<void>(id), static_cast<void>(call_id);
    }
    /// A JSON object that tells how to show the result of `id`, which follows.
    virtual void on_presentation(std::string_view id, std::string_view presentation) {
        static_cast<void>(id), static_cast<void>(presentation);
    }
    /// The pictures of the conversation that the model does not get; called when there are
    /// pictures.
    virtual void on_pictures_left_out(std::span<const std::string> ids) { static_cast<void>(ids); }
    /// Called once, before a successful turn ends.
    virtual void on_metrics(const TurnMetrics& metrics) { static_cast<void>(metrics); }
    /// A message for the history, between the question and the final text: the model's text with
    /// its tool requests (`assistant`), then each call's outcome (`tool`). `extra` is a JSON
    /// object, as in core::ChatMessage.
    virtual void on_message(std::string_view role, std::string_view content,
                            std::string_view extra) {
        static_cast<void>(role), static_cast<void>(content), static_cast<void>(extra);
    }
};

/// The answering agent and the display name of its first model, empty while none is configured.
struct TurnAgent {
    std::string name;
    std::string tenant{};  ///< for principals that may act for it; others use their own
    std::string provider{}, model{};
    bool sees_pictures = false;  ///< one of its models accepts pictures
    /// Whether it reads attached files, and asks questions
    bool reads_files = false, asks = false;
};

/// Runs turns: model requests, and tool calls through the pipeline, until there is an answer. One
/// object per event loop.
class TurnRunner {
public:
    virtual ~TurnRunner() = default;
    /// The agent for this persona.
    virtual TurnAgent agent_of(std::string_view persona) = 0;
    /// Runs one turn to its end; cancelling the coroutine cancels it and its calls. The result is
    /// the whole answer. Errors: kUnauthenticated (the model refused our credentials), kUnavailable
    /// (unreachable or not configured), kCancelled, anything else for a turn that failed.
    virtual Task<Result<std::string>> run(TurnRequest request, TurnEvents& events) = 0;
};

}  // namespace crab::core
