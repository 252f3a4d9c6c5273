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
    std::uint64_t message_count = 0;   ///< those of which is_shown() says yes
};

struct ChatMessage {
    std::string role;        ///< `user`, `assistant`, `tool`, `system`
    std::string content;     ///< text, UTF-8
    SystemTime created_at;
    /// A JSON object as text with what else belongs to it (tool calls, …), or empty
    std::string extra;
    std::string turn{};      ///< id of the turn in which it was said; empty: none
    /// Of a turn's last words: `answer`, or the token of the error that ended it
    std::string outcome{};
    /// A JSON object as text with what people are shown beside it and no model reads, or empty
    std::string display{};
};

/// Whether people are shown a message: an assistant that only called tools said nothing, and a tool
/// may give nothing.
constexpr bool is_shown(std::string_view role, std::string_view content) {
    return !content.empty() || role == "user";
}

struct StoredPicture {
    Picture picture;
    std::string bytes;
};
inline constexpr std::size_t kMostSessionPictures = 128;
inline constexpr std::uint64_t kMostOwnerPictureBytes = std::uint64_t{256} << 20;

/// What an assistant has said so far in a turn that runs.
struct ChatDraft {
    std::string turn;
    std::string content;
    SystemTime created_at;
};

/// A turn of which the last words are stored.
struct StoredTurn {
    std::string outcome;  ///< as in ChatMessage
    std::string text;  ///< all that the assistant said in it
    SystemTime ended_at;
};

/// A question that is to be answered again.
struct ReopenedQuestion {
    std::string content;
    std::uint64_t message_count = 0;  ///< what is left of its session
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

/// Where chat sessions and their messages are kept. All functions may block (call them on
/// BlockingPool) and are thread-safe. Who may see a session is decided above: compare `owner`
/// first, and answer another's session like an unknown one. Errors of all: kUnavailable and
/// kInternal of the store; kNotFound where a session must exist.
class ChatSessionStore {
public:
    virtual ~ChatSessionStore() = default;

    /// Makes the session, or returns the one that has this id, whoever owns it, unchanged, except
    /// that a session without a name takes `wanted.name` when `wanted.owner` owns it. Errors:
    /// kInvalidArgs for a malformed id or an empty owner.
    virtual Result<OpenedChatSession> open(const NewChatSession& wanted) = 0;
    virtual Result<std::optional<ChatSession>> find(const ChatSessionId& id) = 0;
    /// The sessions of `owner`, the latest activity first.
    virtual Result<std::vector<ChatSession>> list(std::string_view owner) = 0;
    /// Errors: kNotFound.
    virtual Result<void> rename(const ChatSessionId& id, std::string_view name) = 0;
    /// Removes the session and its messages; false when there was none.
    virtual Result<bool> remove(const ChatSessionId& id) = 0;

    /// Adds a message, in one commit with the session if that has to be made; the session's last
    /// activity becomes the message's time. Errors: those of open(); kForbidden when another owns
    /// the session.
    virtual Result<void> append(const NewChatSession& session, const ChatMessage& message) = 0;
    /// Keeps what is being said, in place of the draft before; no message, until close_unanswered()
    /// finds that nothing followed. The assistant's next message, and what removes messages, ends
    /// it. Errors: those of append().
    virtual Result<void> keep_draft(const NewChatSession& session, const ChatDraft& draft) = 0;
    /// Keeps a picture of the session, which is made if it has to be; it goes with the session, or
    /// after a day if no message names it. Errors: those of append(); kRateLimited when the session
    /// has kMostSessionPictures, or its owner kMostOwnerPictureBytes.
    virtual Result<void> keep_picture(const NewChatSession& session, const Picture& picture,
                                      std::string_view bytes, SystemTime now) = 0;
    /// A picture of this session; nothing for any other.
    virtual Result<std::optional<StoredPicture>> find_picture(const ChatSessionId& id,
                                                              std::string_view picture) = 0;
    /// All messages, oldest first; none for an unknown session.
    virtual Result<std::vector<ChatMessage>> messages(const ChatSessionId& id) = 0;
    /// The newest whole turns (a question and what follows it) that have at most `most_bytes`
    /// together, oldest first; the last one in any case. No older ones are read, and of none the
    /// `display`.
    virtual Result<std::vector<ChatMessage>> latest(const ChatSessionId& id,
                                                    std::size_t most_bytes) = 0;
    /// How a turn ended; nothing while its last words are not stored.
    virtual Result<std::optional<StoredTurn>> find_turn(const ChatSessionId& id,
                                                        std::string_view turn) = 0;
    /// Adds `note` as the assistant's word to every session whose last message waits for one: the
    /// question of a turn that failed or never ended, or calls or outcomes that nothing followed; a
    /// draft becomes that word, with `note` below it. To be called at the start, before turns run.
    /// Returns how many.
    virtual Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) = 0;
    /// Drops what followed the last question, and returns that; nothing when there is none.
    virtual Result<std::optional<ReopenedQuestion>> reopen(const ChatSessionId& id) = 0;
};

}  // namespace crab::core
