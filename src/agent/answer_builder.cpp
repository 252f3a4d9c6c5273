#include "agent/answer_builder.hpp"

#include <fmt/format.h>

namespace crab::agent {
namespace {

std::unexpected<Error> too_long(std::string_view what, std::size_t most) {
    return fail(ErrorCode::kOversize, fmt::format("the model's {} had no end: more than {}", what, most));
}

}  // namespace

Result<void> AnswerBuilder::text(std::string_view piece) {
    if (piece.empty()) return {};
    if (answer.text.size() + piece.size() > limits_.text_bytes) return too_long("answer", limits_.text_bytes);
    answer.text += piece;
    heard = true;
    sink_.on_text(piece);
    return {};
}

Result<void> AnswerBuilder::thinking(std::string_view piece) {
    if (piece.empty()) return {};
    thinking_bytes_ += piece.size();
    if (thinking_bytes_ > limits_.text_bytes) return too_long("reasoning", limits_.text_bytes);
    heard = true;
    sink_.on_thinking(piece);
    return {};
}

Result<void> AnswerBuilder::begin_request(std::int64_t place, std::string_view id, std::string_view tool) {
    if (answer.requests.size() >= limits_.requests) return too_long("list of tool calls", limits_.requests);
    answer.requests.push_back({.id = std::string(id), .tool = std::string(tool), .args = {}});
    places_.push_back(place);
    return {};
}

Result<void> AnswerBuilder::arguments(std::int64_t place, std::string_view piece) {
    for (std::size_t i = places_.size(); i > 0; --i) {
        if (places_[i - 1] != place) continue;
        arguments_bytes_ += piece.size();
        if (arguments_bytes_ > limits_.arguments_bytes) return too_long("arguments", limits_.arguments_bytes);
        answer.requests[i - 1].args += piece;
        return {};
    }
    return fail(ErrorCode::kInternal, "the model's stream has arguments for a tool call that it did not begin");
}

Result<void> AnswerBuilder::extra(std::string text) {
    if (answer.requests.empty()) return {};
    arguments_bytes_ += text.size();
    if (arguments_bytes_ > limits_.arguments_bytes) return too_long("arguments", limits_.arguments_bytes);
    answer.requests.back().extra = std::move(text);
    return {};
}

const ToolRequest* AnswerBuilder::find(std::int64_t place) const {
    for (std::size_t i = places_.size(); i > 0; --i) {
        if (places_[i - 1] == place) return &answer.requests[i - 1];
    }
    return nullptr;
}

}  // namespace crab::agent
