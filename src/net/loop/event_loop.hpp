#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "net/loop/pollable.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

struct epoll_event;

namespace crab::net {

/// The event loop of one core: an io_context with one thread, and our own epoll set for
/// connections, which dispatches readiness without a handler, timer or allocation per operation.
/// Output of an iteration is written once, at its end. Used on the loop's thread, except post() and
/// stop(). A process with an event loop has SIGPIPE ignored.
class EventLoop {
public:
    static constexpr std::size_t kScratchBytes = 64 * 1024;
    /// Readable bytes behind every buffer that parsers see
    static constexpr std::size_t kSlack = 64;

    explicit EventLoop(const Clock& clock);
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    /// Drops what is still alive on the loop; its thread must have ended.
    ~EventLoop();

    /// Runs on the calling thread until stop().
    void run();
    /// Runs what is ready now, or waits for one handler at most `wait`; for tests and tools that
    /// own the thread.
    void run_some(std::chrono::nanoseconds wait);
    /// Makes run() return soon. Thread-safe.
    void stop();
    /// Runs `function()` on the loop's thread, later. Thread-safe.
    template <class F>
    void post(F&& function) {
        asio::post(io_, std::forward<F>(function));
    }

    asio::io_context::executor_type executor() { return io_.get_executor(); }
    const Clock& clock() const { return clock_; }
    TimerWheel& timers() { return timers_; }
    IdSource& ids() { return ids_; }
    /// The start time of this iteration, or now outside of iterations. For deadlines and activity
    /// timestamps, not for measuring.
    SteadyTime now() const { return in_turn_ ? turn_began_ : clock_.steady_now(); }
    /// This iteration has taken so long that what can wait for the next one should, so that nobody
    /// waits behind several connections that all have much to be read.
    bool is_iteration_long() const {
        return in_turn_ && clock_.steady_now() - turn_began_ > kLongIteration;
    }
    static constexpr Milliseconds kLongIteration{2};
    bool in_this_thread() const { return current() == this; }
    /// The loop that runs on this thread, or nullptr.
    static EventLoop* current();

    /// Watches `fd` for `pollable` with these EPOLL* bits plus EPOLLET; false when the kernel
    /// refuses.
    bool watch(int fd, std::uint32_t events, Pollable& pollable);
    bool rewatch(int fd, std::uint32_t events, Pollable& pollable);
    void unwatch(int fd, Pollable& pollable);
    /// Schedules one call of on_iteration_end() for the end of the current iteration, or soon
    /// outside of iterations.
    void mark_dirty(Pollable& pollable);
    /// Schedules on_ready(events) for a later iteration, for a pollable that stopped before its
    /// descriptor was drained.
    void call_again(std::shared_ptr<Pollable> pollable, std::uint32_t events);
    /// Destroys `object` after the current iteration.
    void destroy_later(std::shared_ptr<void> object);

    /// kScratchBytes for reading into, with kSlack bytes behind; valid until the next read.
    std::span<char> scratch() { return {scratch_.get(), kScratchBytes}; }
    /// An empty string with capacity; give it back when it is empty again.
    std::string take_buffer();
    void give_buffer(std::string&& buffer);

private:
    class Current;
    struct Again {
        std::shared_ptr<Pollable> pollable;
        std::uint32_t events;
    };
    template <class F>
    void run_iteration(F&& body);
    void wait_for_events();
    void dispatch_events();
    void finish_turn();
    void write_dirty();
    void schedule_soon();
    void run_again();
    void drop_watched();
    void forget(Pollable& pollable);
    void wake_at(Deadline deadline);

    const Clock& clock_;
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    TimerWheel timers_;
    IdSource ids_;
    asio::steady_timer alarm_;
    asio::posix::stream_descriptor poller_;
    std::unique_ptr<epoll_event[]> events_;
    std::unique_ptr<char[]> scratch_;
    std::vector<std::string> buffers_;
    Pollable* watched_ = nullptr;  // intrusive list
    std::vector<Pollable*> dirty_;
    std::vector<Again> again_;
    std::vector<std::shared_ptr<void>> to_destroy_;
    Deadline alarm_at_ = kNoDeadline;
    SteadyTime turn_began_{};
    bool real_time_;
    bool in_turn_ = false;
    bool soon_scheduled_ = false;
};

}  // namespace crab::net
