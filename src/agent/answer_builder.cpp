#include "agent/answer_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kMostSpace = 64;   // before a tag at the beginning

/// How many characters at the end of `text` may be the beginning of `tag`.
std::size_t begun_tag(std::string_view text, std::string_view tag) {
    std::size_t size = std::min(text.size(), tag.size() - 1);
    while (size > 0 && !text.ends_with(tag.substr(0, size))) --size;
    return size;
}

std::unexpected<Error> too_long(std::string_view what, std::size_t most) {
    return fail(ErrorCode::kOversize,
                fmt::format("the model's {} had no end: more than {}", what, most));
}

}  // namespace

Result<void> AnswerBuilder::text(std::string_view piece) {
    if (piece.empty()) return {};
    if (part_ == Part::kText) return say(piece);
    held_ += piece;
    if (part_ == Part::kBeginning) return beginning();
    if (part_ == Part::kReasoning) return reasoning();
    // The empty lines between reasoning and answer belong to neither.
    const std::size_t first = held_.find_first_not_of(kSpace);
    if (first == std::string::npos) {
        held_.clear();
        return {};
    }
    part_ = Part::kText;
    return say(std::exchange(held_, {}).substr(first));
}

/// Nothing was said yet: what is held is white space, a tag, or a part of one.
Result<void> AnswerBuilder::beginning() {
    const std::size_t first = std::min(held_.find_first_not_of(kSpace), held_.size());
    const std::string_view begun = std::string_view(held_).substr(first);
    if (begun.starts_with(kThink)) {
        part_ = Part::kReasoning;
        held_.erase(0, first + kThink.size());
        return reasoning();
    }
    if (kThink.starts_with(begun) && first <= kMostSpace) return {};
    part_ = Part::kText;
    return say(std::exchange(held_, {}));
}

Result<void> AnswerBuilder::reasoning() {
    const std::size_t end = held_.find(kEndThink);
    if (end == std::string::npos) {
        const std::size_t kept = begun_tag(held_, kEndThink);
        const std::string piece = held_.substr(0, held_.size() - kept);
        held_.erase(0, piece.size());
        return thinking(piece);
    }
    const std::string rest = held_.substr(end + kEndThink.size());
    held_.resize(end);
    part_ = Part::kAfterReasoning;
    if (auto taken = thinking(std::exchange(held_, {})); !taken) return taken;
    return text(rest);
}

Result<void> AnswerBuilder::end_text() {
    const std::string rest = std::exchange(held_, {});
    const Part part = std::exchange(part_, Part::kText);
    return part == Part::kReasoning ? thinking(rest) : rest.empty() ? Result<void>() : say(rest);
}

Result<void> AnswerBuilder::say(std::string_view piece) {
    if (answer.text.size() + piece.size() > limits_.text_bytes)
        return too_long("answer", limits_.text_bytes);
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
    if (keeps_reasoning) answer.reasoning.text += piece;
    sink_.on_thinking(piece);
    return {};
}

Result<void> AnswerBuilder::begin_request(std::int64_t place, std::string_view id,
                                          std::string_view tool) {
    if (answer.requests.size() >= limits_.requests)
        return too_long("list of tool calls", limits_.requests);
    answer.requests.push_back({.id = std::string(id), .tool = std::string(tool), .args = {}});
    places_.push_back(place);
    return {};
}

Result<void> AnswerBuilder::arguments(std::int64_t place, std::string_view piece) {
    for (std::size_t i = places_.size(); i > 0; --i) {
        if (places_[i - 1] != place) continue;
        arguments_bytes_ += piece.size();
        if (arguments_bytes_ > limits_.arguments_bytes)
            return too_long("arguments", limits_.arguments_bytes);
        answer.requests[i - 1].args += piece;
        return {};
    }
    return fail(ErrorCode::kInternal,
                "the model's stream has arguments for a tool call that it did not begin");
}

Result<void> AnswerBuilder::extra(std::string text) {
    if (answer.requests.empty()) return {};
    arguments_bytes_ += text.size();
    if (arguments_bytes_ > limits_.arguments_bytes)
        return too_long("arguments", limits_.arguments_bytes);
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
