#pragma once

#include "adapters/rtp/pairing/pairing_link.hpp"
#include "base/task/task_group.hpp"
#include "net/http/http_service.hpp"
#include "trust/pairing/remote_pairing.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace crab::rtp {

/// The remote's side of pairings over real connections: the WebSocket on `/v1/pair` (or another
/// path) and `/` of its listener. Runs one handshake at a time, counted from a pair.init that the
/// gateway has signed, so that silent or unsigned connections block nobody. The next handshake
/// waits briefly for the previous one to be stored; any further one is BUSY. Lives on the loop of
/// that listener. Source: docs/protocols/rtp.md, sections 1 and 5.
class PairingRemote {
public:
    struct Options {
        std::string path = "/v1/pair";
        /// This remote's current identity; called when a handshake starts, because its certificate
        /// changes with each pairing.
        std::function<trust::RemotePairing::Remote()> identity;
        /// Called with the end of each handshake, except BUSY ones.
        std::function<void(const trust::PairingStep& end)> on_end = {};
        /// How long the next handshake waits for the end of the previous one.
        Milliseconds longest_turn{2'000};
        /// How long a connection may take to start; a gateway does so immediately.
        Milliseconds longest_silence{5'000};
    };

    /// `loop`, `pool` and what Options::identity() refers to must outlive it.
    PairingRemote(net::EventLoop& loop, BlockingPool& pool, Options options)
        : loop_(loop),
          pool_(pool),
          options_(std::move(options)),
          turn_(loop.timers()),
          tasks_(loop.executor()) {}

    /// The answer to an upgrade on one of its paths; nothing for any other path.
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer);
    bool owns(std::string_view path) const { return path == options_.path || path == "/"; }
    /// Those, for the table of the listener; as long as this lives.
    std::array<std::string_view, 2> paths() const { return {options_.path, "/"}; }
    /// A handshake is in progress.
    bool running() const { return running_; }
    /// Ends the running handshake, then calls `done`. Required before destruction.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

private:
    class Link;
    Task<bool> take_turn();
    Task<void> run(std::shared_ptr<PairingLink> link);

    net::EventLoop& loop_;
    BlockingPool& pool_;
    Options options_;
    bool running_ = false;
    Waiter turn_;  // of the next handshake
    TaskGroup tasks_;
};

}  // namespace crab::rtp
