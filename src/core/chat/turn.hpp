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
    std::string extra{};                    ///< what belongs to it, as in core::ChatMessage
    bool regenerate = false;
    bool debug = false;                     ///< the first model request's prompt is wanted
    std::string_view front = "chat";  ///< which accent it came in, for the audit log; a literal
    std::string prefer_source;  ///< tools of this device win over equal names elsewhere
    ConnectionId prefer_connection{};
    /// Whoever can be asked about the turn's calls; outlives the turn
    Approver* approver = nullptr;
    /// Whoever can be asked what the agent wants to know; outlives the turn
    Asker* asker = nullptr;
};

/// What a turn has cost, as far as the model's vendor says. Source: docs/protocols/clawseed.md,
/// section 2, `done`.
struct TurnMetrics {
    /// Of the last request to the model
    std::optional<std::int64_t> input_tokens{}, cached_input_tokens{};
    std::optional<std::int64_t> output_tokens{};  ///< of all of them
    Milliseconds generating{0};  ///< from the first piece of each answer to its end
    Milliseconds elapsed{0};
};

/// What a turn tells while it runs. Called on the event loop that runs the turn.
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
    /// How the result of `id`, which follows, may be shown to people: a JSON object.
    virtual void on_presentation(std::string_view id, std::string_view presentation) {
        static_cast<void>(id), static_cast<void>(presentation);
    }
    /// Which pictures of the conversation the model is not shown (any more); told when there are
    /// pictures.
    virtual void on_pictures_left_out(std::span<const std::string> ids) { static_cast<void>(ids); }
    /// Once, before a good turn ends.
    virtual void on_metrics(const TurnMetrics& metrics) { static_cast<void>(metrics); }
    /// What belongs in the history beside the question and the text after the last of these: the
    /// model's words with the calls it asked for (`assistant`), then each call's outcome (`tool`).
    /// `extra` is a JSON object, as in core::ChatMessage.
    virtual void on_message(std::string_view role, std::string_view content,
                            std::string_view extra) {
        static_cast<void>(role), static_cast<void>(content), static_cast<void>(extra);
    }
};

/// Who answers: an agent and, for people, the model that it asks first, empty while none is
/// configured.
struct TurnAgent {
    std::string name;
    std::string tenant{};  ///< of turns whose principal may act for it; others have its own
    std::string provider{}, model{};
    bool sees_pictures = false;  ///< a model of it does
    /// What a message brings is read; whoever is there may be asked
    bool reads_files = false, asks = false;
};

/// Runs turns: messages to a model, tool calls through the pipeline, until there is an answer. One
/// object per event loop.
class TurnRunner {
public:
    virtual ~TurnRunner() = default;
    /// The agent of chats of this persona.
    virtual TurnAgent agent_of(std::string_view persona) = 0;
    /// Runs one turn to its end; cancelling the coroutine cancels it and its calls. The result is
    /// the whole answer. Errors: kUnauthenticated (the model refused our credentials), kUnavailable
    /// (unreachable or not configured), kCancelled, anything else for a turn that failed.
    virtual Task<Result<std::string>> run(TurnRequest request, TurnEvents& events) = 0;
};

/// The runner of a gateway without a model: says so.
class NoModel final : public TurnRunner {
public:
    TurnAgent agent_of(std::string_view persona) override { return {.name = std::string(persona)}; }
    Task<Result<std::string>> run(TurnRequest, TurnEvents&) override {
        co_return fail(ErrorCode::kUnavailable,
                       "no model is configured on this gateway; its tools can be called over "
                       "/v1/tools/call all the same");
    }
};

}  // namespace crab::core
