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

/// Stores a turn's partial answer periodically, so that a crash loses at most half a second. Lives
/// on the turn's loop.
class DraftKeeper final : private TimerNode {
public:
    static constexpr Milliseconds kEvery{250};   ///< the same again for a commit

    struct Draft {
        NewChatSession session;
        ChatDraft said;
    };
    /// Returns the answer so far; nothing when there is nothing to store.
    using Read = std::function<std::optional<Draft>()>;

    struct Services {
        TimerWheel& timers;
        const Clock& clock;
        /// The pool that stores messages, so that a draft is not written after its message
        BlockingPool& store_pool;
        ChatSessionStore& chats;
    };
    DraftKeeper(Services services, Read read) : services_(services), read_(std::move(read)) {}

    void on_words() {
        if (!armed()) services_.timers.arm(*this, services_.clock.steady_now() + kEvery);
    }
    /// The answer has been stored as a message.
    void on_message() { disarm(); }

private:
    void on_expired() override;

    const Services services_;
    const Read read_;
    std::shared_ptr<std::atomic<bool>> storing_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace crab::core
