#pragma once

#include "base/counter.hpp"
#include "base/doubling_delay.hpp"
#include "base/secret.hpp"
#include "bus/bus.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/connection.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::bus::nats {

struct FromServer;

/// One event loop's connection to a NATS server, of several the next one when it breaks. The text
/// protocol is our own (docs/decisions/0030). Without TLS: what it carries is signed, not
/// encrypted. Used on its loop.
class NatsLink final : public Bus, private TimerNode {
public:
    struct Options {
        std::string fleet;  ///< of one word: subjects are `crab.<fleet>.…`
        std::vector<net::SocketAddress> servers;  ///< at least one
        std::string name;  ///< for the server's lists
        std::string user;  ///< empty: without a password
        Secret<std::string> password{};
        /// So long a server may say nothing before it is asked whether it is there, and so long
        /// again before it is given up
        Milliseconds quiet{5'000};
    };
    static constexpr std::size_t kMostQueued = std::size_t{8} << 20;
    static constexpr DoublingDelay kPause{.first = Milliseconds(50),
                                          .longest = Milliseconds(2'000)};

    /// `listener` outlives it.
    NatsLink(net::EventLoop& loop, Options options, const Place& self, Listener& listener);
    ~NatsLink() override;

    /// Connects, and again whenever the connection breaks, until stop().
    void start();
    void stop();

    Result<Receipt> send(const Place& to, std::string message) override;
    Result<void> publish(Topic topic, std::string message) override;
    bool connected() const override { return up_; }

    struct Counts {
        Counter connects, broken, errors, messages, nobody;
    };
    const Counts& counts() const { return counts_; }

private:
    class Session;

    void dial();
    std::size_t on_bytes(net::Connection& connection, std::string_view bytes);
    void on_closed();
    bool take(net::Connection& connection, const FromServer& item);
    bool refuse_to_greet(net::Connection& connection);
    void greet(net::Connection& connection);
    void on_message(const FromServer& item);
    void on_expired() override;
    Result<void> put(std::string_view subject, std::string_view reply, std::string_view payload);
    std::string subject_of(const Place& place) const;
    std::string subject_of(Topic topic) const;

    net::EventLoop& loop_;
    const Options options_;
    const std::string own_;  ///< subject of this loop, without the last word
    Listener& listener_;
    const net::ConnectionLimits limits_;
    std::shared_ptr<Session> session_;
    std::shared_ptr<net::Connection> connection_;
    std::size_t next_server_ = 0;
    std::uint64_t failures_ = 0;  ///< in a row
    bool running_ = false, greeted_ = false, up_ = false, asked_ = false;
    Counts counts_;
};

}  // namespace crab::bus::nats
