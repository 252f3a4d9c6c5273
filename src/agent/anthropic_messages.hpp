#pragma once

#include "agent/model_api.hpp"

namespace crab::agent {

/// Anthropic's messages: streamed, with native tool use. Consecutive messages of one role become
/// one, as the API wants it, and tool results come before anything else in theirs.
class AnthropicMessages final : public ModelApi {
public:
    std::string_view path() const override { return "/v1/messages"; }
    net::OwnedHeaders headers(const Secret<std::string>& key) const override;
    void write(std::string& out, const ModelRequest& request, const ToolNames& names,
               const ModelSettings& settings) const override;
    std::unique_ptr<AnswerReader> reader(AnswerSink& sink) const override;
};

}  // namespace crab::agent
