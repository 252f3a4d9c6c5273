#pragma once

#include "core/chat/chat_session_store.hpp"
#include "core/events/event_turn_store.hpp"
#include "gateway/context/gateway_context.hpp"

#include <memory>

namespace crab::gateway {

/// Stores of chat sessions and of turns started by events.
class ChatSessions final : public Component {
public:
    explicit ChatSessions(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "chat sessions"; }
    /// Closes turns that an earlier run of the gateway left unanswered, or a node of its fleet that
    /// has ended. Errors: those of the stores.
    Result<void> start() override;

    core::ChatSessionStore& chats() { return *chats_; }
    core::EventTurnStore& event_turns() { return *event_turns_; }
    /// Drops the records of old turns; blocks.
    void forget_old_turns();

private:
    const GatewayContext& context_;
    std::unique_ptr<core::ChatSessionStore> chats_;
    std::unique_ptr<core::EventTurnStore> event_turns_;
};

}  // namespace crab::gateway
