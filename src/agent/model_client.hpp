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

/// A tool as a model is told of it.
struct OfferedTool {
    std::string name;          ///< as the gateway names it
    std::string description;
    std::string schema;        ///< JSON Schema of an object, fit for models (model_schema.hpp)
};

using OfferedToolRef = std::shared_ptr<const OfferedTool>;

/// All that a model is asked; holds until it has answered.
struct ModelRequest {
    std::string_view system;                ///< empty: none
    const Conversation& messages;
    const std::vector<OfferedToolRef>& tools;
    bool may_call = true;  ///< false: tools are shown, and the model has to answer without them
};

/// Tokens, as the model's vendor counts them; 0 where it does not say.
struct ModelUsage {
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t cached = 0;  ///< of `input`, read from a cache
    bool told = false;  ///< the vendor said anything of it
};

/// What a model said.
struct ModelAnswer {
    std::string text;
    std::vector<ToolRequest> requests;
    ModelUsage usage;
    bool cut_short = false;  ///< it reached its own limit of length
    bool withheld = false;  ///< its vendor kept it, or the rest of it, back
    Reasoning reasoning{};  ///< what it wants back with its requests; empty: nothing
};

/// Hears an answer while it is being made, on the loop's thread.
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
    /// Whether it is shown the pictures of a conversation; else it reads that there are some.
    virtual bool sees() const { return false; }
    /// Asks and streams; the answer is there when the last piece was heard. Repeats by itself what
    /// may help, but nothing once a piece has been heard. Errors: kUnauthenticated (credentials
    /// refused), kUnavailable (unreachable, overloaded, broken off), kTimeout, kCancelled,
    /// kOversize (the answer has no end), kInternal (the request was refused, or the answer is
    /// none).
    virtual Task<Result<ModelAnswer>> ask(const ModelRequest& request, AnswerSink& sink,
                                          Deadline deadline) = 0;
};

}  // namespace crab::agent
