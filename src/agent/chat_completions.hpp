#pragma once

#include "agent/model_api.hpp"

namespace crab::agent {

/// The chat completions API of OpenAI, llama.cpp, Ollama, vLLM and others: streamed, with native
/// tool calling. `reasoning_content` and `reasoning` are read as streamed reasoning.
class ChatCompletions final : public ModelApi {
public:
    std::string_view path() const override { return "/chat/completions"; }
    net::OwnedHeaders headers(const Secret<std::string>& key) const override;
    void write(std::string& out, const ModelRequest& request, const ToolNames& names,
               const ModelSettings& settings) const override;
    std::unique_ptr<AnswerReader> reader(AnswerSink& sink) const override;
};

/// Appends the conversation as the array `messages` of a request; with `settings`, also the
/// reasoning that the model wants returned.
void append_chat_messages(std::string& out, std::string_view system, const Conversation& messages,
                          const ToolNames& names, const ModelSettings* settings = nullptr);

}  // namespace crab::agent
