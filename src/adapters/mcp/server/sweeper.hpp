#pragma once

#include "adapters/mcp/server/server_state.hpp"
#include "net/loop/event_loop.hpp"

namespace crab::mcp {

/// Lets go of what is kept for clients for a while, though they do not come again: once a minute,
/// as long as something is kept. One per event loop; the first of them to look does the work.
class Sweeper final : private TimerNode {
public:
    static constexpr Milliseconds kPause{60'000};

    Sweeper(net::EventLoop& loop, ServerState& state) : loop_(loop), state_(state) {}
    /// Something may be kept from now on.
    void look_later() {
        if (!armed()) loop_.timers().arm(*this, loop_.now() + kPause);
    }

private:
    void on_expired() override {
        if (state_.sweep()) look_later();
    }

    net::EventLoop& loop_;
    ServerState& state_;
};

}  // namespace crab::mcp
