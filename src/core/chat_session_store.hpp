#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// One chat, which outlives the connections that take part in it.
struct ChatSession {
    ChatSessionId id;
    std::string owner;            ///< principal id; only this principal may see it
    std::string name;             ///< shown to people; empty: none yet
    std::string persona;          ///< bound at creation, never changed; empty: none
    SystemTime created_at;
    SystemTime last_activity;
    std::uint64_t message_count = 0;
};

struct ChatMessage {
    std::string role;        ///< `user`, `assistant`, `tool`, `system`
    std::string content;     ///< text, UTF-8
    SystemTime created_at;
    std::string extra;       ///< a JSON object as text with what else belongs to it (tool calls, …), or empty
};

struct NewChatSession {
    ChatSessionId id;
    std::string owner;
    std::string name;
    std::string persona;
    SystemTime created_at;
};

struct OpenedChatSession {
    ChatSession session;
    bool created = false;
};

/// 1-128 of `[A-Za-z0-9._-]`. Source: docs/protocols/clawseed.md, "Endpoint".
constexpr bool is_chat_session_id(std::string_view text) {
    return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    });
}

/// Where chat sessions and their messages are kept. All functions may block (call them on BlockingPool) and are thread-safe.
/// Who may see a session is decided above: compare `owner` first, and answer another's session like an unknown one.
/// Errors of all: kUnavailable and kInternal of the store; kNotFound where a session must exist.
class ChatSessionStore {
public:
    virtual ~ChatSessionStore() = default;

    /// Makes the session, or returns the one that has this id, whoever owns it, unchanged, except that a session without a
    /// name takes `wanted.name` when `wanted.owner` owns it. Errors: kInvalidArgs for a malformed id or an empty owner.
    virtual Result<OpenedChatSession> open(const NewChatSession& wanted) = 0;
    virtual Result<std::optional<ChatSession>> find(const ChatSessionId& id) = 0;
    /// The sessions of `owner`, the latest activity first.
    virtual Result<std::vector<ChatSession>> list(std::string_view owner) = 0;
    /// Errors: kNotFound.
    virtual Result<void> rename(const ChatSessionId& id, std::string_view name) = 0;
    /// Removes the session and its messages; false when there was none.
    virtual Result<bool> remove(const ChatSessionId& id) = 0;

    /// Adds a message; the session's last activity becomes the message's time. Errors: kNotFound.
    virtual Result<void> append(const ChatSessionId& id, const ChatMessage& message) = 0;
    /// All messages, oldest first; none for an unknown session.
    virtual Result<std::vector<ChatMessage>> messages(const ChatSessionId& id) = 0;
    virtual Result<std::uint64_t> message_count(const ChatSessionId& id) = 0;
    /// Adds `note` as the assistant's word to every session whose last message waits for one: the question of a turn that failed or
    /// never ended, or calls or outcomes that nothing followed. To be called at the start, before turns run. Returns how many.
    virtual Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) = 0;
    /// Keeps the oldest `count` messages, as `regenerate` needs it.
    virtual Result<void> truncate(const ChatSessionId& id, std::uint64_t count) = 0;
};

}  // namespace crab::core
