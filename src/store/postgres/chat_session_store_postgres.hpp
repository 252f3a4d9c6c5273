#pragma once

#include "base/ordered_mutex.hpp"
#include "core/chat/chat_session_store.hpp"
#include "store/postgres/connection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::store::postgres {

/// Chat sessions and messages; whoever adds to a session locks its row. For one node:
/// close_unanswered() takes the turns of all others for broken off. The schema is there.
/// Thread-safe.
class ChatSessionStorePostgres final : public core::ChatSessionStore {
public:
    explicit ChatSessionStorePostgres(const ConnectionOptions& options) : database_(options) {}

    Result<core::OpenedChatSession> open(const core::NewChatSession& wanted) override;
    Result<std::optional<core::ChatSession>> find(const ChatSessionId& id) override;
    Result<std::vector<core::ChatSession>> list(std::string_view owner) override;
    Result<void> rename(const ChatSessionId& id, std::string_view name) override;
    Result<bool> remove(const ChatSessionId& id) override;
    Result<void> append(const core::NewChatSession& session,
                        const core::ChatMessage& message) override;
    Result<void> keep_draft(const core::NewChatSession& session,
                            const core::ChatDraft& draft) override;
    Result<void> keep_picture(const core::NewChatSession& session, const core::Picture& picture,
                              std::string_view bytes, SystemTime now) override;
    Result<std::optional<core::StoredPicture>> find_picture(const ChatSessionId& id,
                                                            std::string_view picture) override;
    Result<std::vector<core::ChatMessage>> messages(const ChatSessionId& id) override;
    Result<std::vector<core::ChatMessage>> latest(const ChatSessionId& id,
                                                  std::size_t most_bytes) override;
    Result<std::optional<core::StoredTurn>> find_turn(const ChatSessionId& id,
                                                      std::string_view turn) override;
    Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) override;
    Result<std::optional<core::ReopenedQuestion>> reopen(const ChatSessionId& id) override;

private:
    // Callers hold the lock.
    Result<bool> make(const core::NewChatSession& wanted);
    Result<std::optional<core::ChatSession>> read(const ChatSessionId& id);
    /// Makes the session unless it is there, and locks it. Errors: kForbidden when it is another's.
    Result<void> make_own(const core::NewChatSession& wanted);
    Result<void> expect_room(const core::NewChatSession& session, std::uint64_t bytes);
    Result<void> drop_draft(const ChatSessionId& id);

    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
