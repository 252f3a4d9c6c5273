#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/waiter.hpp"
#include "net/loop/event_loop.hpp"
#include "net/websocket/websocket_session.hpp"
#include "trust/pairing/pairing_step.hpp"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace crab::rtp {

/// One WebSocket of a pairing, whose texts a coroutine receives; the same on both sides. Lives on
/// its loop. Text and binary messages count alike (docs/protocols/rtp.md, section 5).
class PairingLink : public net::WebSocketHandler {
public:
    enum class Event : std::uint8_t { kText, kClosed, kDeadline, kCancelled };

    explicit PairingLink(net::EventLoop& loop) : waiter_(loop.timers()) {}

    /// Size and time limits of a pairing's WebSocket.
    static net::WebSocketOptions options();
    /// Waits for the next text, at most until `deadline`; texts that arrived before the end are
    /// returned first.
    Task<Event> next(std::string& text, Deadline deadline);
    /// Sends the texts, then closes if the step says so. No effect once the link is closed.
    void send(const trust::PairingStep& step);
    /// Drops the connection without a close frame.
    void abort();

    void on_open(net::WebSocketSession& session) override { session_ = session.shared_from_this(); }
    void on_text(net::WebSocketSession& session, std::span<char> text) override {
        take(session, {text.data(), text.size()});
    }
    void on_binary(net::WebSocketSession& session, std::span<char> bytes) override {
        take(session, {bytes.data(), bytes.size()});
    }
    bool on_excess(net::WebSocketSession& session, std::string_view piece, bool last) override;
    void on_closed(net::WebSocketSession& session, const net::CloseInfo& info) override;

private:
    void take(net::WebSocketSession& session, std::string_view text);

    Waiter waiter_;
    std::shared_ptr<net::WebSocketSession> session_;  // while it is open
    std::deque<std::string> texts_;
    bool closed_ = false;
    bool excess_ = false;  ///< an oversized message is arriving and has been reported
};

/// Drives one side of a pairing from its first `step` to its end. `machine` is a GatewayPairing or
/// RemotePairing; it blocks on its store, so it runs on `pool`. Ends by `deadline`, or soon after
/// it is cancelled.
template <class Machine>
Task<trust::PairingStep> drive_pairing(std::shared_ptr<PairingLink> link, BlockingPool& pool,
                                       std::shared_ptr<Machine> machine, trust::PairingStep step,
                                       Deadline deadline) {
    for (;;) {
        link->send(step);
        if (step.close) co_return step;
        std::string text;
        switch (co_await link->next(text, deadline)) {
            case PairingLink::Event::kText: {
                auto judge = [machine, text = std::move(text)] {
                    return machine->on_message(text);
                };
                step = co_await pool.run(std::move(judge));
                break;
            }
            case PairingLink::Event::kDeadline: step = machine->on_deadline(); break;
            case PairingLink::Event::kClosed:
            case PairingLink::Event::kCancelled: step = machine->on_closed(); break;
        }
    }
}

}  // namespace crab::rtp
