#pragma once

#include <cstdint>

namespace crab::net {

/// Something with a descriptor that an EventLoop watches. Used on the loop's thread only; it is
/// destroyed through EventLoop::destroy_later(), never inside one of its own callbacks.
class Pollable {
public:
    virtual ~Pollable() = default;

    /// Readiness, as EPOLL* bits. Edge-triggered: what is not taken now is not announced again.
    virtual void on_ready(std::uint32_t events) = 0;
    /// The iteration in which EventLoop::mark_dirty() was called ends: write what was gathered.
    virtual void on_iteration_end() {}
    /// The loop is being destroyed while this is still watched: let go of the descriptor.
    virtual void on_loop_end() {}

private:
    friend class EventLoop;
    Pollable* next_watched_ = nullptr;
    Pollable* previous_watched_ = nullptr;
    bool dirty_ = false;
};

}  // namespace crab::net
