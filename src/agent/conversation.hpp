#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace crab::agent {

/// A model's wish to have a tool called.
struct ToolRequest {
    std::string id;     ///< unique in its conversation
    std::string tool;   ///< as the gateway names it
    std::string args;   ///< a JSON object as text, or what the model gave in its place
    /// What its API wants to read again with it, a JSON object; of the running turn, not stored
    std::string extra{};
};

/// Whose an answer is, and what the model thought before it spoke, in the form of its API. Models
/// that need it get it back while the turn goes on; it is not stored.
struct Reasoning {
    std::string model;  ///< no other gets the text, nor what is `extra` in the requests
    std::string text;  ///< its API's own form: JSON or plain; empty: nothing
};

/// A picture in a conversation.
struct Picture {
    std::string id{};  ///< of one that a person sent; empty: a tool gave it
    std::string mime_type{};
    std::shared_ptr<const std::string> base64{};  ///< null: not shown to the model
};

enum class Speaker : std::uint8_t { kUser, kAssistant, kTool };

/// One contribution to a conversation, in no vendor's form.
struct Message {
    Speaker speaker = Speaker::kUser;
    std::string text;  ///< UTF-8; of a tool: what the model reads as its output
    std::vector<ToolRequest> requests{};  ///< of the assistant
    std::string request_id{};  ///< of a tool: which request this answers
    std::string tool{};  ///< of a tool: its name
    Reasoning reasoning{};  ///< of the assistant, in the running turn
    std::vector<Picture> pictures{};  ///< of the user, or of a tool's result in the running turn
};

/// Every request of an assistant is answered by exactly one tool message before anybody else
/// speaks.
using Conversation = std::vector<Message>;

}  // namespace crab::agent
