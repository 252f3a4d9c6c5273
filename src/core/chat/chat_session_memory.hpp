#pragma once

#include "core/chat/chat_session_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace crab::core {

/// Chat sessions in memory: for tests and for gateways configured without storage.
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

}  // namespace crab::core
