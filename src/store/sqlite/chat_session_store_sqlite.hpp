#pragma once

#include "base/ordered_mutex.hpp"
#include "core/chat/chat_session_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Chat sessions and messages in the tables `chat_session` and `chat_message`. Thread-safe.
class ChatSessionStoreSqlite final : public core::ChatSessionStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<ChatSessionStoreSqlite>> open(
        const std::filesystem::path& path,
        DatabaseOptions options = {.durability = Durability::kProcess});

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
    explicit ChatSessionStoreSqlite(Database database) : database_(std::move(database)) {}
    Result<bool> make(const core::NewChatSession& wanted);
    /// make(), where it may be there already. Errors: also kForbidden when it is another's.
    Result<void> make_own(const core::NewChatSession& wanted);
    Result<void> count(const ChatSessionId& id);
    Result<void> expect_room(const core::NewChatSession& session, std::uint64_t bytes);
    Result<void> drop_draft(const ChatSessionId& id);
    Result<std::uint64_t> close_drafts(std::string_view note);
    Result<std::optional<core::ChatSession>> read(const ChatSessionId& id);
    Result<void> require_changed(Result<void> done) const;

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
