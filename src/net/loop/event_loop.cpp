#include "net/loop/event_loop.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <sys/epoll.h>
#include <unistd.h>

namespace crab::net {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr std::size_t kMaxFreeBuffers = 256;
constexpr std::size_t kFreshBufferBytes = 2048;
constexpr std::size_t kMaxFreeBufferBytes = 64 * 1024;  // larger ones go back to the system

thread_local EventLoop* current_loop = nullptr;

int new_epoll() {
    const int fd = ::epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    return fd;
}

}  // namespace

/// Marks the loop as the one that runs on this thread.
class EventLoop::Current {
public:
    explicit Current(EventLoop& loop) : before_(std::exchange(current_loop, &loop)) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() { current_loop = before_; }

private:
    EventLoop* before_;
};

EventLoop::EventLoop(const Clock& clock)
    : clock_(clock),
      work_(io_.get_executor()),
      timers_(clock),
      ids_(clock),
      alarm_(io_),
      poller_(io_, new_epoll()),
      events_(std::make_unique<epoll_event[]>(kEventsPerTurn)),
      scratch_(std::make_unique<char[]>(kScratchBytes + kSlack)),
      real_time_(dynamic_cast<const RealClock*>(&clock) != nullptr) {
    // OpenSSL writes with write(), which would raise SIGPIPE when the other side is gone.
    static const auto ignored = std::signal(SIGPIPE, SIG_IGN);
    static_cast<void>(ignored);
    timers_.on_earlier_wakeup([this](Deadline deadline) { wake_at(deadline); });
    wait_for_events();
}

EventLoop::~EventLoop() {
    const Current current(*this);
    run_iteration([this] { drop_watched(); });
    timers_.on_earlier_wakeup({});
}

EventLoop* EventLoop::current() { return current_loop; }

void EventLoop::run() {
    const Current current(*this);
    io_.run();
}

void EventLoop::run_some(std::chrono::nanoseconds wait) {
    const Current current(*this);
    io_.restart();
    if (io_.run_one_for(wait) != 0) io_.poll();
}

void EventLoop::stop() { io_.stop(); }

bool EventLoop::watch(int fd, std::uint32_t events, Pollable& pollable) {
    epoll_event event{};
    event.events = events | EPOLLET;
    event.data.ptr = &pollable;
    if (::epoll_ctl(poller_.native_handle(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
    pollable.next_watched_ = watched_;
    pollable.previous_watched_ = nullptr;
    if (watched_ != nullptr) watched_->previous_watched_ = &pollable;
    watched_ = &pollable;
    return true;
}

bool EventLoop::rewatch(int fd, std::uint32_t events, Pollable& pollable) {
    epoll_event event{};
    event.events = events | EPOLLET;
    event.data.ptr = &pollable;
    return ::epoll_ctl(poller_.native_handle(), EPOLL_CTL_MOD, fd, &event) == 0;
}

void EventLoop::unwatch(int fd, Pollable& pollable) {
    ::epoll_ctl(poller_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
    forget(pollable);
}

void EventLoop::forget(Pollable& pollable) {
    if (pollable.previous_watched_ != nullptr) {
        pollable.previous_watched_->next_watched_ = pollable.next_watched_;
    } else if (watched_ == &pollable) {
        watched_ = pollable.next_watched_;
    }
    if (pollable.next_watched_ != nullptr)
        pollable.next_watched_->previous_watched_ = pollable.previous_watched_;
    pollable.next_watched_ = pollable.previous_watched_ = nullptr;
}

void EventLoop::drop_watched() {
    while (watched_ != nullptr) {
        Pollable& pollable = *watched_;
        pollable.on_loop_end();
        if (watched_ == &pollable) forget(pollable);
    }
}

void EventLoop::mark_dirty(Pollable& pollable) {
    if (std::exchange(pollable.dirty_, true)) return;
    dirty_.push_back(&pollable);
    if (!in_turn_) schedule_soon();
}

void EventLoop::call_again(std::shared_ptr<Pollable> pollable, std::uint32_t events) {
    again_.push_back({std::move(pollable), events});
    schedule_soon();
}

void EventLoop::destroy_later(std::shared_ptr<void> object) {
    to_destroy_.push_back(std::move(object));
    if (!in_turn_) schedule_soon();
}

std::string EventLoop::take_buffer() {
    if (buffers_.empty()) {
        std::string fresh;
        fresh.reserve(kFreshBufferBytes);
        return fresh;
    }
    std::string buffer = std::move(buffers_.back());
    buffers_.pop_back();
    return buffer;
}

void EventLoop::give_buffer(std::string&& buffer) {
    if (buffer.capacity() < kFreshBufferBytes) return;
    std::string given = std::move(buffer);
    if (given.capacity() > kMaxFreeBufferBytes || buffers_.size() >= kMaxFreeBuffers) return;
    given.clear();
    buffers_.push_back(std::move(given));
}

template <class F>
void EventLoop::run_iteration(F&& body) {
    in_turn_ = true;
    turn_began_ = clock_.steady_now();
    body();
    finish_turn();
    in_turn_ = false;
}

void EventLoop::wait_for_events() {
    poller_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                           if (error) return;
                           run_iteration([this] { dispatch_events(); });
                           wait_for_events();
                       });
}

void EventLoop::dispatch_events() {
    const int count = ::epoll_wait(poller_.native_handle(), events_.get(), kEventsPerTurn, 0);
    for (int i = 0; i < count; ++i)
        static_cast<Pollable*>(events_[i].data.ptr)->on_ready(events_[i].events);
}

void EventLoop::finish_turn() {
    write_dirty();
    while (!to_destroy_.empty()) {
        // One after the other: what a destructor makes dirty is written before the next one, which
        // may be just that, is destroyed.
        for (auto dead = std::exchange(to_destroy_, {}); auto& object : dead) {
            object.reset();
            write_dirty();
        }
    }
}

void EventLoop::write_dirty() {
    // Writing may make others dirty: what was drained may send more.
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        Pollable& pollable = *dirty_[i];
        pollable.dirty_ = false;
        pollable.on_iteration_end();
    }
    dirty_.clear();
}

// One handler for all that was asked for outside of iterations, or for a later iteration.
void EventLoop::schedule_soon() {
    if (std::exchange(soon_scheduled_, true)) return;
    asio::post(io_, [this] {
        soon_scheduled_ = false;
        run_iteration([this] { run_again(); });
    });
}

/// At least one of them; those for which no time is left come first in the next iteration.
void EventLoop::run_again() {
    auto calls = std::exchange(again_, {});
    auto next = calls.begin();
    while (next != calls.end() && (next == calls.begin() || !is_iteration_long())) {
        next->pollable->on_ready(next->events);
        ++next;
    }
    if (next == calls.end()) return;
    again_.insert(again_.begin(), std::make_move_iterator(next),
                  std::make_move_iterator(calls.end()));
    schedule_soon();
}

// Asio's timer is touched only when the next deadline moves to an earlier time.
void EventLoop::wake_at(Deadline deadline) {
    if (!real_time_ || deadline >= alarm_at_) return;
    alarm_at_ = deadline;
    alarm_.expires_at(deadline);
    alarm_.async_wait([this](const boost::system::error_code& error) {
        if (error) return;
        alarm_at_ = kNoDeadline;
        run_iteration([this] { timers_.run_expired(); });
        if (const auto next = timers_.next_wakeup()) wake_at(*next);
    });
}

}  // namespace crab::net
