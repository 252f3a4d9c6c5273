#pragma once

#include "base/result.hpp"
#include "net/loop/endpoint.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace crab::net {

/// A socket that listens. Made once per endpoint and shared by the loops: each loop's Acceptor
/// takes its own descriptor. TCP: one socket per loop with SO_REUSEPORT. Unix: mode 0600, its
/// directory made with 0700 if missing; an existing socket file is replaced only if nobody answers
/// on it; unlinked on close.
class Listener {
public:
    /// Binds. Port 0 lets the system choose; endpoint() tells. Errors: kUnavailable (address in
    /// use, no permission), kInvalidArgs.
    static Result<std::unique_ptr<Listener>> bind(const Endpoint& endpoint);
    /// Takes a socket that listens already, which another process has made and keeps: all loops
    /// accept from one queue, and the file of a Unix socket stays. Owns `fd`, also after an error.
    /// Errors: kInvalidArgs (no stream socket that listens), kForbidden (the file of a Unix socket
    /// is open to others).
    static Result<std::unique_ptr<Listener>> adopt(int fd);
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    /// As bound, with the port that the system chose.
    const Endpoint& endpoint() const { return endpoint_; }
    /// A listening descriptor for one more loop: the first call gives the bound one; further calls
    /// bind another to the same TCP address, or copy one that was adopted. Errors: kUnavailable,
    /// also for the second descriptor of a Unix socket (one loop accepts for all).
    Result<int> descriptor();

private:
    explicit Listener(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
    Endpoint endpoint_;
    int fd_ = -1;  // until descriptor() hands it out
    bool owns_path_ = false;
    bool adopted_ = false;  // fd_ is copied, and stays
};

/// Accepts on one loop and hands every new descriptor (non-blocking; TCP with TCP_NODELAY and
/// keep-alive probes) to `on_accept`, which owns it. When the system is out of descriptors or
/// memory it waits 100 ms and goes on. Made with std::make_shared, closed before it is given up.
class Acceptor final : public Pollable,
                       private TimerNode,
                       public std::enable_shared_from_this<Acceptor> {
public:
    Acceptor(EventLoop& loop, int fd, std::function<void(int fd)> on_accept);
    ~Acceptor() override;
    void on_ready(std::uint32_t events) override;
    void on_loop_end() override { close(); }
    void close();

private:
    void on_expired() override;
    EventLoop& loop_;
    int fd_;
    std::function<void(int)> on_accept_;
};

}  // namespace crab::net
