#pragma once

#include "base/descriptor.hpp"
#include "base/task/waiter.hpp"
#include "hosts/command/command_end.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace crab::command {

/// Channel between the coroutine that awaits a command, on its loop, and the thread that runs it:
/// output in one direction, the stop request in the other. Output that is not taken blocks the
/// command. Thread-safe; owned by both sides.
class CommandChannel {
public:
    static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  ///< bytes

    /// `no_timers` is required by RemoteWaiter but unused: the thread watches the time.
    CommandChannel(const Executor& home, TimerWheel& no_timers);

    // The loop's side.

    struct Part {
        std::string output;
        std::optional<CommandEnd> end;  ///< set once, with the last output
    };
    /// The output since the last take().
    Part take();
    /// Waits for the next part; kCancelled when the awaiting chain is cancelled.
    [[nodiscard]] Waiter::Wait wait() { return news_->wait(kNoDeadline); }
    /// Stops the command; true if it was never started.
    bool stop();

    // The thread's side.

    /// False if stop() came first: then the command must not start.
    bool begin();
    /// How many bytes put() accepts now.
    std::size_t room() const;
    void put(std::string_view output);
    void end(CommandEnd end);
    bool stopped() const;
    /// Becomes readable when stop() is called or output was taken.
    int wakeup() const { return wakeup_.get(); }
    void clear_wakeup() const;

private:
    void wake_thread() const;

    mutable std::mutex mutex_;
    std::shared_ptr<RemoteWaiter> news_;
    Descriptor wakeup_;
    std::string waiting_;
    std::optional<CommandEnd> end_;
    bool begun_ = false, stopped_ = false;
};

}  // namespace crab::command
