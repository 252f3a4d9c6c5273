#pragma once

#include "agent/conversation.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::agent {

/// A tool as it is offered to a model.
struct OfferedTool {
    std::string name;          ///< as the gateway names it
    std::string description;
    std::string schema;        ///< JSON Schema of an object, converted by model_schema.hpp
};

using OfferedToolRef = std::shared_ptr<const OfferedTool>;

/// A request to a model; must stay valid until the answer is complete.
struct ModelRequest {
    std::string_view system;                ///< empty: none
    const Conversation& messages;
    const std::vector<OfferedToolRef>& tools;
    bool may_call = true;  ///< false: tools are sent, but the model must not call them
    std::string_view traceparent{};  ///< of the request's own span; empty: there is none
};

/// Tokens as counted by the vendor; 0 if not reported.
struct ModelUsage {
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t cached = 0;  ///< of `input`, read from a cache
    bool told = false;  ///< the vendor reported usage
};

/// A model's answer.
struct ModelAnswer {
    std::string text;
    std::vector<ToolRequest> requests;
    ModelUsage usage;
    bool cut_short = false;  ///< it reached its output limit
    bool withheld = false;  ///< its vendor withheld all or part of it
    Reasoning reasoning{};  ///< to be returned with its requests; may be empty
};

/// Receives an answer while it is streamed, on the loop's thread.
class AnswerSink {
public:
    virtual ~AnswerSink() = default;
    virtual void on_text(std::string_view piece) = 0;
    virtual void on_thinking(std::string_view piece) = 0;
};

/// One configured model, on one event loop.
class ModelClient {
public:
    virtual ~ModelClient() = default;
    /// Names for people.
    virtual std::string_view provider() const = 0;
    virtual std::string_view model() const = 0;
    /// Whether it accepts pictures; otherwise it gets a note instead.
    virtual bool sees() const { return false; }
    /// Told until when it is tried after all others; a time that has passed: no longer.
    virtual void rest_until(SteadyTime until) { (void)until; }
    /// Sends the request and streams the answer. Retries on its own, but not once a piece has
    /// arrived. Errors: kUnauthenticated (credentials refused), kUnavailable (unreachable,
    /// overloaded, connection lost), kTimeout, kCancelled, kOversize (the answer is too long),
    /// kInternal (the request was refused, or the answer is invalid).
    virtual Task<Result<ModelAnswer>> ask(const ModelRequest& request, AnswerSink& sink,
                                          Deadline deadline) = 0;
};

}  // namespace crab::agent
