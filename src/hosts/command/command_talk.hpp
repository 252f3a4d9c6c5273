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

/// Between the coroutine that awaits a command, on its loop, and the thread that runs it: output in
/// one direction, the wish to end in the other. Output that is not taken holds the command back.
/// Thread-safe; both sides hold it.
class CommandTalk {
public:
    static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  ///< bytes

    /// `no_timers` is only there for the form: the thread keeps the clocks.
    CommandTalk(const Executor& home, TimerWheel& no_timers);

    // The loop's side.

    struct Part {
        std::string output;
        std::optional<CommandEnd> end;  ///< set once, with the last output
    };
    /// What has come since the last time.
    Part take();
    /// Waits for the next part; kCancelled when the awaiting chain is cancelled.
    [[nodiscard]] Waiter::Wait wait() { return news_->wait(kNoDeadline); }
    /// Asks the thread to end the command; true when it has not begun with it and never will.
    bool stop();

    // The thread's side.

    /// False when stop() came first: there is nothing to do then.
    bool begin();
    /// How many more bytes put() may be given now.
    std::size_t room() const;
    void put(std::string_view output);
    void end(CommandEnd end);
    bool stopped() const;
    /// Becomes readable when stop() is called or room is made.
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
