#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"
#include "core/call/picture.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::core {

/// A chat session, which outlives its connections.
struct ChatSession {
    ChatSessionId id;
    std::string owner;            ///< principal id; only this principal may see it
    std::string name;             ///< title; may be empty
    std::string persona;          ///< fixed at creation; may be empty
    SystemTime created_at;
    SystemTime last_activity;
    std::uint64_t message_count = 0;   ///< messages that is_shown() includes
};

struct ChatMessage {
    std::string role;        ///< `user`, `assistant`, `tool`, `system`
    std::string content;     ///< text, UTF-8
    SystemTime created_at;
    /// A JSON object as text with further data (tool calls, …), or empty
    std::string extra;
    std::string turn{};      ///< id of its turn; may be empty
    /// On a turn's last message: `answer`, or the token of the error that ended it
    std::string outcome{};
    /// A JSON object as text with display data that models do not get, or empty
    std::string display{};
};

/// Whether a message is shown to people: not if it has no text, as when an assistant only called
/// tools.
constexpr bool is_shown(std::string_view role, std::string_view content) {
    return !content.empty() || role == "user";
}

struct StoredPicture {
    Picture picture;
    std::string bytes;
};
inline constexpr std::size_t kMostSessionPictures = 128;
inline constexpr std::uint64_t kMostOwnerPictureBytes = std::uint64_t{256} << 20;

/// The assistant's partial answer in a running turn.
struct ChatDraft {
    std::string turn;
    std::string content;
    SystemTime created_at;
};

/// A turn whose last message is stored.
struct StoredTurn {
    std::string outcome;  ///< as in ChatMessage
    std::string text;  ///< the assistant's whole answer
    SystemTime ended_at;
};

/// A question to be answered again.
struct ReopenedQuestion {
    std::string content;
    std::uint64_t message_count = 0;  ///< remaining messages of its session
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
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
}

/// What a turn's answer is that nobody ended.
inline constexpr std::string_view kUnanswered =
    "[no answer: the turn failed, or the gateway stopped before its end]";

/// Store of chat sessions and messages. All functions may block (call them on BlockingPool) and are
/// thread-safe. Callers check access: compare `owner` first, and treat another owner's session as
/// unknown. Errors of all: kUnavailable and kInternal of the store; kNotFound where a session must
/// exist.
class ChatSessionStore {
public:
    virtual ~ChatSessionStore() = default;

    /// Creates the session, or returns the one with this id, whoever owns it. An existing session
    /// without a name gets `wanted.name` if `wanted.owner` owns it. Errors: kInvalidArgs for a
    /// malformed id or an empty owner.
    virtual Result<OpenedChatSession> open(const NewChatSession& wanted) = 0;
    virtual Result<std::optional<ChatSession>> find(const ChatSessionId& id) = 0;
    /// The sessions of `owner`, latest activity first.
    virtual Result<std::vector<ChatSession>> list(std::string_view owner) = 0;
    /// Errors: kNotFound.
    virtual Result<void> rename(const ChatSessionId& id, std::string_view name) = 0;
    /// Removes the session and its messages; false when there was none.
    virtual Result<bool> remove(const ChatSessionId& id) = 0;

    /// Adds a message, creating the session in the same commit if needed; sets the session's last
    /// activity to the message's time. Errors: those of open(); kForbidden when another owns the
    /// session.
    virtual Result<void> append(const NewChatSession& session, const ChatMessage& message) = 0;
    /// Stores the partial answer, replacing the previous draft. It becomes a message only if
    /// close_unanswered() finds it after a crash. The assistant's next message, or removing
    /// messages, deletes it. Errors: those of append().
    virtual Result<void> keep_draft(const NewChatSession& session, const ChatDraft& draft) = 0;
    /// Stores a picture of the session, which is created if needed; it is removed with the session,
    /// or after a day if no message references it. Errors: those of append(); kRateLimited when the
    /// session has kMostSessionPictures, or its owner kMostOwnerPictureBytes.
    virtual Result<void> keep_picture(const NewChatSession& session, const Picture& picture,
                                      std::string_view bytes, SystemTime now) = 0;
    /// A picture of this session; nothing for any other.
    virtual Result<std::optional<StoredPicture>> find_picture(const ChatSessionId& id,
                                                              std::string_view picture) = 0;
    /// All messages, oldest first; none for an unknown session.
    virtual Result<std::vector<ChatMessage>> messages(const ChatSessionId& id) = 0;
    /// The newest whole turns (a question and what follows it) of at most `most_bytes` in total,
    /// oldest first; always including the last one. Leaves out `display`.
    virtual Result<std::vector<ChatMessage>> latest(const ChatSessionId& id,
                                                    std::size_t most_bytes) = 0;
    /// How a turn ended; nothing until its last message is stored.
    virtual Result<std::optional<StoredTurn>> find_turn(const ChatSessionId& id,
                                                        std::string_view turn) = 0;
    /// Whether other processes add messages too: then each turn begins with claim() and ends with
    /// release().
    virtual bool is_shared() const { return false; }
    /// Until release(), this process alone adds messages to the session, which is created if
    /// needed. What a process that has ended since left open there is closed first, as
    /// close_unanswered() does. Errors: those of append(); kConflict while another process that
    /// lives has it.
    virtual Result<ChatSession> claim(const NewChatSession& session, SystemTime now);
    /// Changes nothing if this process has not claimed it, or another has since.
    virtual Result<void> release(const ChatSessionId& id);
    /// Adds `note` as an assistant message to every session whose last turn has no answer: it
    /// failed, was interrupted, or ended with calls or outcomes. A draft becomes the message,
    /// followed by `note`. Call it at start, before turns run. Where other processes add messages,
    /// only what those left that have ended. Returns how many.
    virtual Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) = 0;
    /// Removes the messages after the last question and returns that question; nothing when there
    /// is none.
    virtual Result<std::optional<ReopenedQuestion>> reopen(const ChatSessionId& id) = 0;
};

inline Result<ChatSession> ChatSessionStore::claim(const NewChatSession& session, SystemTime) {
    auto opened = open(session);
    if (!opened) return fail(std::move(opened.error()));
    return std::move(opened->session);
}
inline Result<void> ChatSessionStore::release(const ChatSessionId&) { return {}; }

}  // namespace crab::core
