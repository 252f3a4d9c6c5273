#include "load/loop.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace crab::bench {

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), scratch_(256 * 1024) {
    // paced calls start within microseconds of their time, not within 50
    prctl(PR_SET_TIMERSLACK, 1);
}

Loop::~Loop() { ::close(epoll_); }

void Loop::watch(int fd, Source& source, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.ptr = &source}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Loop::change(int fd, Source& source, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.ptr = &source}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void Loop::turn(Clock::time_point until) {
    // What was written between turns leaves first, so that nobody waits for an answer to bytes
    // still held here.
    const auto flush_all = [&] {
        flushing_.swap(dirty_);
        for (Source* source : flushing_) source->flush();
        flushing_.clear();
    };
    flush_all();
    const auto left = std::max(until - Clock::now(), Clock::duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec wait{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    std::array<epoll_event, 512> events;
    const int count = epoll_pwait2(epoll_, events.data(), events.size(), &wait, nullptr);
    for (int i = 0; i < count; ++i)
        static_cast<Source*>(events[i].data.ptr)->on_ready(events[i].events);
    flush_all();
}

}  // namespace crab::bench
