#pragma once

#include "base/descriptor.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace crab::mcp {

/// A descriptor of a child that an event loop watches, edge-triggered. close() before destruction.
class FdWatch final : public net::Pollable, public std::enable_shared_from_this<FdWatch> {
public:
    FdWatch(net::EventLoop& loop, Descriptor own, std::function<void()> ready)
        : loop_(loop), own_(std::move(own)), fd_(own_.get()), ready_(std::move(ready)) {}
    /// Somebody else's descriptor, which stays open.
    FdWatch(net::EventLoop& loop, int fd, std::function<void()> ready)
        : loop_(loop), fd_(fd), ready_(std::move(ready)) {}

    bool begin(std::uint32_t events) { return watching_ = loop_.watch(fd_, events, *this); }
    int fd() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    /// To be called from anywhere, once or more; nothing is told afterwards.
    void close() {
        if (fd_ < 0) return;
        if (watching_) loop_.unwatch(fd_, *this);
        own_.close();
        fd_ = -1;
        loop_.destroy_later(shared_from_this());
    }
    /// Tells once more at the end of this iteration, for a writer that gathers until then.
    void at_iteration_end() {
        if (fd_ >= 0) loop_.mark_dirty(*this);
    }
    /// Tells again in a later turn, for a reader that stopped before there was nothing left.
    void again() { loop_.call_again(shared_from_this(), 0); }

private:
    void on_ready(std::uint32_t) override {
        if (fd_ >= 0) ready_();
    }
    void on_iteration_end() override {
        if (fd_ >= 0) ready_();
    }
    void on_loop_end() override {
        watching_ = false;
        own_.close();
        fd_ = -1;
    }

    net::EventLoop& loop_;
    Descriptor own_;
    int fd_;
    const std::function<void()> ready_;
    bool watching_ = false;
};

}  // namespace crab::mcp
