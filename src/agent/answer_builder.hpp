#pragma once

#include "agent/model_client.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab::agent {

/// What one answer may cost the gateway.
struct AnswerLimits {
    std::size_t text_bytes = std::size_t{1} << 20;       ///< text and thinking, each
    std::size_t arguments_bytes = std::size_t{1} << 20;  ///< of all requests together
    std::size_t requests = 256;
};

/// Puts an answer together from the pieces of a stream. Errors of its functions: kOversize beyond a
/// limit. Many servers leave a model's reasoning in its text, as `<think>…</think>` at the
/// beginning: that is reasoning here, wherever the pieces are cut. Later in the text it is text.
class AnswerBuilder {
public:
    explicit AnswerBuilder(AnswerSink& sink, AnswerLimits limits = {})
        : sink_(sink), limits_(limits) {}

    Result<void> text(std::string_view piece);
    /// No text follows: what was held back because it might have become a tag is what it looks
    /// like.
    Result<void> end_text();
    Result<void> thinking(std::string_view piece);
    /// Begins the request of that place in the batch, which the stream chooses; its name is still
    /// the model's.
    Result<void> begin_request(std::int64_t place, std::string_view id, std::string_view tool);
    /// More of its arguments; kInternal when it was not begun.
    Result<void> arguments(std::int64_t place, std::string_view piece);
    /// What the API wants to read again with the request that was begun last; counts as arguments.
    Result<void> extra(std::string text);
    /// The request that was begun last in that place, or null.
    const ToolRequest* find(std::int64_t place) const;

    ModelAnswer answer;
    bool heard = false;  ///< a piece has gone to the sink
    /// The API reads reasoning again as plain text: it is in `answer`
    bool keeps_reasoning = false;

private:
    enum class Part : std::uint8_t { kBeginning, kReasoning, kAfterReasoning, kText };
    Result<void> beginning();
    Result<void> reasoning();
    Result<void> say(std::string_view piece);

    AnswerSink& sink_;
    const AnswerLimits limits_;
    Part part_ = Part::kBeginning;
    std::string held_;  ///< text that may yet turn out to be a tag, or reasoning
    std::vector<std::int64_t> places_;  ///< of each request in the answer
    std::size_t thinking_bytes_ = 0;
    std::size_t arguments_bytes_ = 0;
};

}  // namespace crab::agent
