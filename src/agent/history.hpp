#pragma once

#include "agent/conversation.hpp"
#include "core/chat/chat_session_store.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace crab::agent {

/// What is stored as `extra` of an assistant's message with requests, and of a tool's message
/// (core::ChatMessage).
std::string requests_extra(std::span<const ToolRequest> requests);
std::string result_extra(const ToolRequest& request);

/// The conversation that stored messages make. A request whose result is missing (the gateway
/// stopped in between) gets one that says so, and a result without its request is dropped.
Conversation to_conversation(std::span<const core::ChatMessage> stored);

/// Whether any picture of the message can be shown.
bool has_shown(const Message& message);
/// The text of a message with pictures for a model that sees none: it reads that there are some.
/// Empty for a message without.
std::string with_blind_note(const Message& message);

/// About how many tokens a text is: a quarter of its bytes.
inline constexpr std::size_t kBytesPerToken = 4;
constexpr std::size_t estimated_tokens(std::size_t bytes) {
    return (bytes + kBytesPerToken - 1) / kBytesPerToken;
}
std::size_t estimated_tokens(const Message& message);
std::size_t estimated_tokens(const Conversation& conversation);

/// Shortens `conversation` to about `most_tokens`: whole turns go, the oldest first, so that no
/// request loses its result and the first message stays a user's; the last turn stays, but the
/// outputs of all but its last batch of tools may be left out.
void trim(Conversation& conversation, std::size_t most_tokens);

}  // namespace crab::agent
