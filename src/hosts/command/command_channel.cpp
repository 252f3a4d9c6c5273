#include "hosts/command/command_channel.hpp"

#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace crab::command {

CommandChannel::CommandChannel(const Executor& home, TimerWheel& no_timers)
    : news_(std::make_shared<RemoteWaiter>(home, no_timers)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CommandChannel::Part CommandChannel::take() {
    const std::scoped_lock lock(mutex_);
    Part part{.output = std::exchange(waiting_, {}), .end = std::exchange(end_, std::nullopt)};
    if (!part.output.empty()) wake_thread();
    return part;
}

bool CommandChannel::stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    wake_thread();
    return !begun_;
}

bool CommandChannel::begin() {
    const std::scoped_lock lock(mutex_);
    begun_ = !stopped_;
    return begun_;
}

std::size_t CommandChannel::room() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size() < kMostWaiting ? kMostWaiting - waiting_.size() : 0;
}

void CommandChannel::put(std::string_view output) {
    {
        const std::scoped_lock lock(mutex_);
        waiting_ += output;
    }
    news_->wake();
}

void CommandChannel::end(CommandEnd end) {
    {
        const std::scoped_lock lock(mutex_);
        end_ = std::move(end);
    }
    news_->wake();
}

bool CommandChannel::stopped() const {
    const std::scoped_lock lock(mutex_);
    return stopped_;
}

void CommandChannel::clear_wakeup() const {
    std::uint64_t times = 0;
    (void)!::read(wakeup_.get(), &times, sizeof times);
}

void CommandChannel::wake_thread() const {
    const std::uint64_t once = 1;
    (void)!::write(wakeup_.get(), &once, sizeof once);
}

}  // namespace crab::command
