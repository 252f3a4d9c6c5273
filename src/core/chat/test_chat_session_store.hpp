#pragma once

#include "core/chat/chat_session_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace crab::core {

/// Chat sessions in memory: for tests.
class ChatSessionMemory final : public ChatSessionStore {
public:
    Result<OpenedChatSession> open(const NewChatSession& wanted) override;
    Result<std::optional<ChatSession>> find(const ChatSessionId& id) override;
    Result<std::vector<ChatSession>> list(std::string_view owner) override;
    Result<void> rename(const ChatSessionId& id, std::string_view name) override;
    Result<bool> remove(const ChatSessionId& id) override;
    Result<void> append(const NewChatSession& session, const ChatMessage& message) override;
    Result<void> keep_draft(const NewChatSession& session, const ChatDraft& draft) override;
    Result<void> keep_picture(const NewChatSession& session, const Picture& picture,
                              std::string_view bytes, SystemTime now) override;
    Result<std::optional<StoredPicture>> find_picture(const ChatSessionId& id,
                                                      std::string_view picture) override;
    Result<std::vector<ChatMessage>> messages(const ChatSessionId& id) override;
    Result<std::vector<ChatMessage>> latest(const ChatSessionId& id,
                                            std::size_t most_bytes) override;
    Result<std::optional<StoredTurn>> find_turn(const ChatSessionId& id,
                                                std::string_view turn) override;
    Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) override;
    Result<std::optional<ReopenedQuestion>> reopen(const ChatSessionId& id) override;

    /// For tests: the draft of that session.
    std::string draft(const ChatSessionId& id) {
        const std::scoped_lock lock(mutex_);
        const auto found = entries_.find(id);
        return found == entries_.end() || !found->second.draft ? std::string()
                                                               : found->second.draft->content;
    }

private:
    struct Entry {
        ChatSession session;
        std::vector<ChatMessage> messages;
        std::optional<ChatDraft> draft{};
        std::vector<StoredPicture> pictures{};
        void count() {
            session.message_count = static_cast<std::uint64_t>(std::ranges::count_if(
                messages,
                [](const ChatMessage& each) { return is_shown(each.role, each.content); }));
        }
    };
    Result<OpenedChatSession> open_locked(const NewChatSession& wanted);

    std::mutex mutex_;
    std::map<ChatSessionId, Entry> entries_;
};

namespace detail {

inline std::unexpected<Error> unknown_session() {
    return fail(ErrorCode::kNotFound, "no such chat session: open it first");
}

}  // namespace detail

inline Result<OpenedChatSession> ChatSessionMemory::open(const NewChatSession& wanted) {
    const std::scoped_lock lock(mutex_);
    return open_locked(wanted);
}

inline Result<OpenedChatSession> ChatSessionMemory::open_locked(const NewChatSession& wanted) {
    if (!is_chat_session_id(wanted.id.text()))
        return fail(ErrorCode::kInvalidArgs, "session_id must be 1-128 of [A-Za-z0-9._-]");
    if (wanted.owner.empty()) return fail(ErrorCode::kInvalidArgs, "a chat session needs an owner");
    const auto [found, created] = entries_.try_emplace(wanted.id);
    ChatSession& session = found->second.session;
    if (created) {
        session = {.id = wanted.id,
                   .owner = wanted.owner,
                   .name = wanted.name,
                   .persona = wanted.persona,
                   .created_at = wanted.created_at,
                   .last_activity = wanted.created_at};
    } else if (session.name.empty() && session.owner == wanted.owner) {
        session.name = wanted.name;
    }
    return OpenedChatSession{.session = session, .created = created};
}

inline Result<std::optional<ChatSession>> ChatSessionMemory::find(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return std::nullopt;
    return found->second.session;
}

inline Result<std::vector<ChatSession>> ChatSessionMemory::list(std::string_view owner) {
    std::vector<ChatSession> sessions;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [id, entry] : entries_) {
            if (entry.session.owner == owner) sessions.push_back(entry.session);
        }
    }
    std::ranges::sort(sessions, [](const ChatSession& a, const ChatSession& b) {
        return std::tie(b.last_activity, a.id) < std::tie(a.last_activity, b.id);
    });
    return sessions;
}

inline Result<void> ChatSessionMemory::rename(const ChatSessionId& id, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return detail::unknown_session();
    found->second.session.name = name;
    return {};
}

inline Result<bool> ChatSessionMemory::remove(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    return entries_.erase(id) != 0;
}

inline Result<void> ChatSessionMemory::append(const NewChatSession& wanted,
                                              const ChatMessage& message) {
    const std::scoped_lock lock(mutex_);
    auto opened = open_locked(wanted);
    if (!opened) return fail(std::move(opened.error()));
    if (opened->session.owner != wanted.owner)
        return fail(ErrorCode::kForbidden, "the chat session is another's");
    Entry& entry = entries_.find(wanted.id)->second;
    entry.messages.push_back(message);
    entry.count();
    entry.session.last_activity = message.created_at;
    if (message.role == "assistant") entry.draft.reset();
    return {};
}

inline Result<void> ChatSessionMemory::keep_draft(const NewChatSession& wanted,
                                                  const ChatDraft& draft) {
    const std::scoped_lock lock(mutex_);
    auto opened = open_locked(wanted);
    if (!opened) return fail(std::move(opened.error()));
    if (opened->session.owner != wanted.owner)
        return fail(ErrorCode::kForbidden, "the chat session is another's");
    entries_.find(wanted.id)->second.draft = draft;
    return {};
}

inline Result<void> ChatSessionMemory::keep_picture(const NewChatSession& wanted,
                                                    const Picture& picture, std::string_view bytes,
                                                    SystemTime) {
    const std::scoped_lock lock(mutex_);
    auto opened = open_locked(wanted);
    if (!opened) return fail(std::move(opened.error()));
    if (opened->session.owner != wanted.owner)
        return fail(ErrorCode::kForbidden, "the chat session is another's");
    std::vector<StoredPicture>& pictures = entries_.find(wanted.id)->second.pictures;
    if (pictures.size() >= kMostSessionPictures)
        return fail(ErrorCode::kRateLimited,
                    "this chat session has as many pictures as it may have");
    pictures.push_back({.picture = picture, .bytes = std::string(bytes)});
    return {};
}

inline Result<std::optional<StoredPicture>> ChatSessionMemory::find_picture(
    const ChatSessionId& id, std::string_view picture) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return std::nullopt;
    for (const StoredPicture& each : found->second.pictures) {
        if (each.picture.id == picture) return each;
    }
    return std::nullopt;
}

inline Result<std::vector<ChatMessage>> ChatSessionMemory::messages(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return std::vector<ChatMessage>{};
    return found->second.messages;
}

inline Result<std::vector<ChatMessage>> ChatSessionMemory::latest(const ChatSessionId& id,
                                                                  std::size_t most_bytes) {
    const auto all = messages(id).value();
    std::size_t whole = 0, bytes = 0;
    for (std::size_t taken = 1; taken <= all.size(); ++taken) {
        const ChatMessage& message = all[all.size() - taken];
        bytes += message.content.size() + message.extra.size();
        if (whole > 0 && bytes > most_bytes) break;
        if (message.role == "user") whole = taken;
    }
    std::vector<ChatMessage> newest(all.end() - static_cast<std::ptrdiff_t>(whole), all.end());
    for (ChatMessage& message : newest) message.display.clear();
    return newest;
}

inline Result<std::optional<StoredTurn>> ChatSessionMemory::find_turn(const ChatSessionId& id,
                                                                      std::string_view turn) {
    StoredTurn found;
    for (const ChatMessage& message : messages(id).value()) {
        if (message.turn != turn || message.role != "assistant") continue;
        found.text += message.content;
        if (message.outcome.empty()) continue;
        found.outcome = message.outcome;
        found.ended_at = message.created_at;
    }
    if (found.outcome.empty()) return std::nullopt;
    return found;
}

inline Result<std::uint64_t> ChatSessionMemory::close_unanswered(std::string_view note,
                                                                 SystemTime now) {
    const std::scoped_lock lock(mutex_);
    std::uint64_t closed = 0;
    for (auto& [id, entry] : entries_) {
        if (const auto draft = std::exchange(entry.draft, std::nullopt)) {
            entry.messages.push_back({.role = "assistant",
                                      .content = draft->content + "\n" + std::string(note),
                                      .created_at = draft->created_at,
                                      .extra = {},
                                      .turn = draft->turn});
            entry.count();
            ++closed;
        }
        if (entry.messages.empty() ||
            (entry.messages.back().role == "assistant" && entry.messages.back().extra.empty()))
            continue;
        entry.messages.push_back(
            {.role = "assistant", .content = std::string(note), .created_at = now, .extra = {}});
        entry.count();
        ++closed;
    }
    return closed;
}

inline Result<std::optional<ReopenedQuestion>> ChatSessionMemory::reopen(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return std::nullopt;
    auto& messages = found->second.messages;
    const auto question =
        std::ranges::find(messages.rbegin(), messages.rend(), "user", &ChatMessage::role);
    if (question == messages.rend()) return std::nullopt;
    messages.erase(question.base(), messages.end());
    found->second.count();
    found->second.draft.reset();
    return ReopenedQuestion{.content = messages.back().content,
                            .message_count = found->second.session.message_count};
}

}  // namespace crab::core
