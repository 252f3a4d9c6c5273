#pragma once

#include "core/chat_session_store.hpp"

#include <map>
#include <mutex>

namespace crab::core {

/// Chat sessions that end with the process: for tests and for gateways that are told to remember nothing.
class ChatSessionMemory final : public ChatSessionStore {
public:
    Result<OpenedChatSession> open(const NewChatSession& wanted) override;
    Result<std::optional<ChatSession>> find(const ChatSessionId& id) override;
    Result<std::vector<ChatSession>> list(std::string_view owner) override;
    Result<void> rename(const ChatSessionId& id, std::string_view name) override;
    Result<bool> remove(const ChatSessionId& id) override;
    Result<void> append(const ChatSessionId& id, const ChatMessage& message) override;
    Result<std::vector<ChatMessage>> messages(const ChatSessionId& id) override;
    Result<std::uint64_t> message_count(const ChatSessionId& id) override;
    Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) override;
    Result<void> truncate(const ChatSessionId& id, std::uint64_t count) override;

private:
    struct Entry {
        ChatSession session;
        std::vector<ChatMessage> messages;
    };
    std::mutex mutex_;
    std::map<ChatSessionId, Entry> entries_;
};

}  // namespace crab::core
