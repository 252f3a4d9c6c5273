#include "hosts/command/command_talk.hpp"

#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace crab::command {

CommandTalk::CommandTalk(const Executor& home, TimerWheel& no_timers)
    : news_(std::make_shared<RemoteWaiter>(home, no_timers)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CommandTalk::Part CommandTalk::take() {
    const std::scoped_lock lock(mutex_);
    Part part{.output = std::exchange(waiting_, {}), .end = std::exchange(end_, std::nullopt)};
    if (!part.output.empty()) wake_thread();
    return part;
}

bool CommandTalk::stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    wake_thread();
    return !begun_;
}

bool CommandTalk::begin() {
    const std::scoped_lock lock(mutex_);
    begun_ = !stopped_;
    return begun_;
}

std::size_t CommandTalk::room() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size() < kMostWaiting ? kMostWaiting - waiting_.size() : 0;
}

void CommandTalk::put(std::string_view output) {
    {
        const std::scoped_lock lock(mutex_);
        waiting_ += output;
    }
    news_->wake();
}

void CommandTalk::end(CommandEnd end) {
    {
        const std::scoped_lock lock(mutex_);
        end_ = std::move(end);
    }
    news_->wake();
}

bool CommandTalk::stopped() const {
    const std::scoped_lock lock(mutex_);
    return stopped_;
}

void CommandTalk::clear_wakeup() const {
    std::uint64_t times = 0;
    (void)!::read(wakeup_.get(), &times, sizeof times);
}

void CommandTalk::wake_thread() const {
    const std::uint64_t once = 1;
    (void)!::write(wakeup_.get(), &once, sizeof once);
}

}  // namespace crab::command
