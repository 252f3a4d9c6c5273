#pragma once

#include "agent/conversation.hpp"
#include "base/token_estimate.hpp"
#include "core/chat/chat_session_store.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace crab::agent {

/// The stored `extra` of an assistant's message with requests, and of a tool's message
/// (core::ChatMessage).
std::string requests_extra(std::span<const ToolRequest> requests);
std::string result_extra(const ToolRequest& request);

/// Converts stored messages to a conversation. A request without a result (the gateway stopped in
/// between) gets one that says so; a result without a request is dropped.
Conversation to_conversation(std::span<const core::ChatMessage> stored);

/// Whether any picture of the message can be shown.
bool has_shown(const Message& message);
/// The text of a message for a model without vision, with a note about its pictures. Empty for a
/// message without pictures.
std::string with_blind_note(const Message& message);

using crab::estimated_tokens;  // of a text
std::size_t estimated_tokens(const Message& message);
std::size_t estimated_tokens(const Conversation& conversation);

/// Shortens `conversation` to about `most_tokens` by dropping whole turns, oldest first, so that no
/// request loses its result and the first message is a user's. The last turn stays, but may lose
/// the outputs of all but its last batch of tools.
void trim(Conversation& conversation, std::size_t most_tokens);

}  // namespace crab::agent
