#pragma once

#include "gateway/gateway_context.hpp"
#include "store/sqlite/chat_session_store_sqlite.hpp"
#include "store/sqlite/event_turn_store_sqlite.hpp"

#include <memory>

namespace crab::gateway {

/// Stores of chat sessions (`sessions.db`) and of turns started by events (`agents.db`).
class ChatSessions final : public Component {
public:
    explicit ChatSessions(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "chat sessions"; }
    /// Closes turns that an earlier run of the gateway left unanswered. Errors: those of the
    /// stores.
    Result<void> start() override;

    core::ChatSessionStore& chats() { return *chats_; }
    core::EventTurnStore& event_turns() { return *event_turns_; }
    /// Drops the records of old turns; blocks.
    void forget_old_turns();

private:
    const GatewayContext& context_;
    std::unique_ptr<store::sqlite::ChatSessionStoreSqlite> chats_;
    std::unique_ptr<store::sqlite::EventTurnStoreSqlite> event_turns_;
};

}  // namespace crab::gateway
