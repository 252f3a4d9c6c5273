#include "gateway/chat_sessions.hpp"

#include "base/log.hpp"

namespace crab::gateway {
namespace {

constexpr std::chrono::days kKeepTurns{30};
constexpr std::string_view kUnanswered =
    "[no answer: the turn failed, or the gateway stopped before its end]";

}  // namespace

Result<void> ChatSessions::start() {
    const std::filesystem::path& folder = context_.paths.state_dir;
    auto chats = store::sqlite::ChatSessionStoreSqlite::open(folder / "sessions.db");
    if (!chats) return fail(std::move(chats.error()));
    chats_ = std::move(*chats);
    if (auto closed = chats_->close_unanswered(kUnanswered, context_.clock.system_now()); !closed)
        return fail(std::move(closed.error()));
    auto turns = store::sqlite::EventTurnStoreSqlite::open(folder / "agents.db");
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
