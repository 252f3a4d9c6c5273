#pragma once

#include "agent/model_client.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab::agent {

/// Limits of one answer.
struct AnswerLimits {
    std::size_t text_bytes = std::size_t{1} << 20;       ///< text and thinking, each
    std::size_t arguments_bytes = std::size_t{1} << 20;  ///< of all requests together
    std::size_t requests = 256;
};

/// Builds an answer from the pieces of a stream. Errors of its functions: kOversize beyond a limit.
/// `<think>…</think>` at the start of the text, as many servers send it, is treated as reasoning,
/// wherever the pieces are cut; later in the text it is text.
class AnswerBuilder {
public:
    explicit AnswerBuilder(AnswerSink& sink, AnswerLimits limits = {})
        : sink_(sink), limits_(limits) {}

    Result<void> text(std::string_view piece);
    /// No text follows: releases text that was held back as a possible tag.
    Result<void> end_text();
    Result<void> thinking(std::string_view piece);
    /// Starts the request at this index of the batch, which the stream chooses; the name is not
    /// translated yet.
    Result<void> begin_request(std::int64_t place, std::string_view id, std::string_view tool);
    /// Appends to its arguments; kInternal when it was not started.
    Result<void> arguments(std::int64_t place, std::string_view piece);
    /// Data that the API wants returned with the last request; counts as arguments.
    Result<void> extra(std::string text);
    /// The last request started at that index, or null.
    const ToolRequest* find(std::int64_t place) const;

    ModelAnswer answer;
    bool heard = false;  ///< a piece was passed to the sink
    /// The API wants reasoning returned as plain text: it is kept in `answer`
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
