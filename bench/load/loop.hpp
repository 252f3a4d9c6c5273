#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace crab::bench {

using Clock = std::chrono::steady_clock;

/// Something with a descriptor that a Loop watches; it removes itself before it goes away.
class Source {
public:
    virtual ~Source() = default;
    /// `events` as epoll_wait gives them.
    virtual void on_ready(std::uint32_t events) = 0;
    /// Called once at the end of a turn in which it asked for it.
    virtual void flush() {}
};

/// One thread's epoll. Bytes that are written during a turn leave when the turn ends, in one system
/// call per connection.
class Loop {
public:
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void watch(int fd, Source& source, std::uint32_t events);
    void change(int fd, Source& source, std::uint32_t events);
    void forget(int fd);
    /// Has flush() called when the turn ends; the source asks at most once per turn.
    void flush_later(Source& source) { dirty_.push_back(&source); }
    /// Handles what is ready, waiting for it at most until `until`.
    void turn(Clock::time_point until);
    /// Where sources read into; valid until the next read.
    std::span<char> scratch() { return scratch_; }

private:
    int epoll_;
    std::vector<char> scratch_;
    std::vector<Source*> dirty_;
    std::vector<Source*> flushing_;
};

}  // namespace crab::bench
