#pragma once

#include "base/ordered_mutex.hpp"
#include "core/chat/chat_session_store.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::store::postgres {

/// Chat sessions and messages; whoever adds to a session locks its row. Of a node of a fleet, a
/// session is claimed under its incarnation while a turn runs, and the claim's number, which grows
/// with each, is compared with every word of the turn. The schema is there. Thread-safe.
class ChatSessionStorePostgres final : public core::ChatSessionStore {
public:
    /// `self` of the node's incarnation; empty for a gateway that is alone.
    explicit ChatSessionStorePostgres(const ConnectionOptions& options,
                                      std::function<NodeClaim()> self = {})
        : self_(std::move(self)), database_(options), finding_(for_loops(options)) {}

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
    bool is_shared() const override { return static_cast<bool>(self_); }
    Result<core::ChatSession> claim(const core::NewChatSession& session, SystemTime now) override;
    Result<void> release(const ChatSessionId& id) override;
    Result<std::uint64_t> close_unanswered(std::string_view note, SystemTime now) override;
    Result<std::optional<core::ReopenedQuestion>> reopen(const ChatSessionId& id) override;

private:
    static ConnectionOptions for_loops(ConnectionOptions options);
    // Callers hold the lock.
    Result<bool> make(const core::NewChatSession& wanted);
    static Result<std::optional<core::ChatSession>> read(Connection& database,
                                                         const ChatSessionId& id);
    /// Makes the session unless it is there, and locks it. Errors: kForbidden when it is another's.
    Result<void> make_own(const core::NewChatSession& wanted);
    Result<void> expect_room(const core::NewChatSession& session, std::uint64_t bytes);
    Result<void> drop_draft(const ChatSessionId& id);
    std::int64_t claim_on(const ChatSessionId& id) const;
    Result<void> expect_claim(const ChatSessionId& id);
    Result<void> mark(const ChatSessionId& id, const core::ChatMessage& message);
    Result<std::int64_t> take_claim(const ChatSessionId& id, SystemTime now);
    /// Of these; of all without any.
    Result<std::uint64_t> close(const Array* sessions, std::string_view note, SystemTime now);

    const std::function<NodeClaim()> self_;
    /// Numbers of the claims that this process has, under mutex_
    std::map<std::string, std::int64_t, std::less<>> claims_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
    /// Of a node find() has its own: event loops call it, and wait for nothing else
    OrderedMutex<LockRank::kStore> finding_mutex_;
    Connection finding_;
    SteadyTime find_again_at_{};  ///< under finding_mutex_
};

}  // namespace crab::store::postgres
