#pragma once

#include "base/result.hpp"
#include "net/loop/listener.hpp"
#include "net/tls/connection_slots.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace crab::net {

/// What the servers of all protocols have in common: what they accept on, the slots of their
/// connections, how many coroutines serve, and the end of all of it. Used on the loop's thread.
class ServerConnections {
public:
    /// `loop` must outlive it.
    ServerConnections(EventLoop& loop, ConnectionSlots::Limits limits,
                      ConnectionSlots::Count count);
    ServerConnections(const ServerConnections&) = delete;
    ServerConnections& operator=(const ServerConnections&) = delete;

    /// Accepts on one more descriptor of `listener`; `serve` gets what was accepted. Errors: those
    /// of Listener::descriptor().
    Result<void> listen(Listener& listener, std::function<void(int fd)> serve);
    bool accepting() const { return accepting_; }
    void stop_accepting();
    /// At once, for destructors: what serves has to know that it is over.
    void close();

    ConnectionSlots& slots() { return slots_; }
    const ConnectionSlots& slots() const { return slots_; }

    void serving_begun() { running_ += 1; }
    void serving_ended();
    std::size_t running() const { return running_; }

    /// Accepts nothing more. `done` is called in a later iteration, once no connection and nothing
    /// that serves is left; whoever calls this ends them.
    void stop(std::function<void()> done);
    bool stopping() const { return stopping_; }
    /// Whether that is now so; what a server does itself may be the last of it.
    void check_stopped();

private:
    EventLoop& loop_;
    std::vector<std::shared_ptr<Acceptor>> acceptors_;
    ConnectionSlots slots_;
    std::size_t running_ = 0;
    std::function<void()> on_stopped_;
    bool accepting_ = true;
    bool stopping_ = false;
};

}  // namespace crab::net
