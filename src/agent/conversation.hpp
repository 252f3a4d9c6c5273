#pragma once

#include "base/id_source.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crab::agent {

/// A model's request for a tool call.
struct ToolRequest {
    std::string id;     ///< unique in its conversation
    std::string tool;   ///< as the gateway names it
    std::string args;   ///< a JSON object as text, or whatever the model sent instead
    /// Data that the API wants returned with it, a JSON object; not stored
    std::string extra{};
    /// Under which id the pipeline runs it; nothing: it is not run there
    std::optional<UuidText> call_id{};
};

/// The reasoning of an answer, in the form of its model's API. Models that need it get it back
/// during the turn; it is not stored.
struct Reasoning {
    std::string model;  ///< only this model gets the text, and `extra` of the requests
    std::string text;  ///< its API's own form: JSON or plain; empty: nothing
};

/// A picture in a conversation.
struct Picture {
    std::string id{};  ///< of a picture that a person sent; empty: from a tool
    std::string mime_type{};
    std::shared_ptr<const std::string> base64{};  ///< null: not shown to the model
};

enum class MessageRole : std::uint8_t { kUser, kAssistant, kTool };

/// One message of a conversation, in a vendor-neutral form.
struct Message {
    MessageRole role = MessageRole::kUser;
    std::string text;  ///< UTF-8; of a tool: what the model reads as its output
    std::vector<ToolRequest> requests{};  ///< of the assistant
    std::string request_id{};  ///< of a tool: which request this answers
    std::string tool{};  ///< of a tool: its name
    Reasoning reasoning{};  ///< of the assistant, in the running turn
    std::vector<Picture> pictures{};  ///< of the user, or of a tool's result in the running turn
};

/// Every tool request of an assistant is followed by exactly one tool message before any other
/// message.
using Conversation = std::vector<Message>;

}  // namespace crab::agent
