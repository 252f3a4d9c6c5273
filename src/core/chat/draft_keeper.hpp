#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/chat/chat_session_store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace crab::core {

/// Stores what a turn says while it says it, so that a crash takes no more than the last half
/// second. Lives on the turn's loop.
class DraftKeeper final : private TimerNode {
public:
    static constexpr Milliseconds kEvery{250};   ///< leaves as much for a commit

    struct Draft {
        NewChatSession session;
        ChatDraft said;
    };
    /// Gives what was said so far; nothing when there is nothing to keep.
    using Read = std::function<std::optional<Draft>()>;

    struct Services {
        TimerWheel& timers;
        const Clock& clock;
        /// The one that stores messages: what they end is not begun again
        BlockingPool& store_pool;
        ChatSessionStore& chats;
    };
    DraftKeeper(Services services, Read read) : services_(services), read_(std::move(read)) {}

    void on_words() {
        if (!armed()) services_.timers.arm(*this, services_.clock.steady_now() + kEvery);
    }
    /// A message holds it all.
    void on_message() { disarm(); }

private:
    void on_expired() override;

    const Services services_;
    const Read read_;
    std::shared_ptr<std::atomic<bool>> storing_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace crab::core
