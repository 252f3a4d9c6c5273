#include "gateway/stored/chat_sessions.hpp"

#include "base/log.hpp"
#include "store/stores.hpp"

namespace crab::gateway {
namespace {

constexpr std::chrono::days kKeepTurns{30};

}  // namespace

Result<void> ChatSessions::start() {
    auto chats = context_.stores->open_chats();
    if (!chats) return fail(std::move(chats.error()));
    chats_ = std::move(*chats);
    if (auto closed = chats_->close_unanswered(core::kUnanswered, context_.clock.system_now());
        !closed)
        return fail(std::move(closed.error()));
    auto turns = context_.stores->open_event_turns();
    if (!turns) return fail(std::move(turns.error()));
    event_turns_ = std::move(*turns);
    return {};
}

void ChatSessions::forget_old_turns() {
    const auto forgotten = event_turns_->forget(context_.clock.system_now() - kKeepTurns);
    if (!forgotten)
        log::warn("old turns were not forgotten", {{"reason", forgotten.error().message}});
}

}  // namespace crab::gateway
