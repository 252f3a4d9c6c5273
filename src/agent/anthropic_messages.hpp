#pragma once

#include "agent/model_api.hpp"

namespace crab::agent {

/// Anthropic's messages: streamed, with native tool use. As the API requires, consecutive messages
/// of one role are merged, with tool results first.
class AnthropicMessages final : public ModelApi {
public:
    std::string_view path() const override { return "/v1/messages"; }
    net::OwnedHeaders headers(const Secret<std::string>& key) const override;
    void write(std::string& out, const ModelRequest& request, const ToolNames& names,
               const ModelSettings& settings) const override;
    std::unique_ptr<AnswerReader> reader(AnswerSink& sink) const override;
};

}  // namespace crab::agent
