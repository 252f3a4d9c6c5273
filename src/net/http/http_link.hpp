#pragma once

#include "base/task/waiter.hpp"
#include "net/codec/http_body.hpp"
#include "net/http/http_reply.hpp"
#include "net/tls/connection.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace crab::net {

/// One connection of an HttpClient and the exchange that it carries, one at a time. On its loop's
/// thread only.
class HttpLink final : public ConnectionHandler {
public:
    /// Pools idle links and is notified when one of them closes.
    class Owner {
    public:
        virtual void on_kept_link_closed(HttpLink& link) = 0;

    protected:
        ~Owner() = default;
    };

    HttpLink(TimerWheel& timers, std::size_t max_body_bytes)
        : timers_(timers), max_body_bytes_(max_body_bytes) {}

    /// Sends `call` and waits for the whole answer; a failure of any kind, deadline and
    /// cancellation included, closes the link. Errors: kUnavailable (link lost), kTimeout,
    /// kCancelled, kOversize, kInternal (not HTTP), kInvalidArgs (no fit request).
    Task<HttpResult> exchange(const HttpCall& call, const std::string& host, Deadline deadline);

    /// Nothing is in progress, and another exchange may follow.
    bool is_idle() const;
    /// is_idle(), and the server has neither closed nor sent anything unexpected; checks the
    /// socket.
    bool is_still_good() const;
    /// `owner` pools it from `now` on; null: it is in use again.
    void keep_for(Owner* owner, SteadyTime now) {
        owner_ = owner;
        kept_since_ = now;
    }
    SteadyTime kept_since() const { return kept_since_; }
    std::string peer_certificate_der() const {
        return connection_ ? connection_->peer_certificate_der() : std::string();
    }
    /// No exchange follows the one that is in progress.
    void retire() { spent_ = true; }
    /// Closes now; an exchange in progress fails.
    void close();

    void on_open(Connection& connection) override { connection_ = connection.shared_from_this(); }
    std::size_t on_bytes(Connection& connection, std::span<char> bytes) override;
    void on_end_of_stream(Connection& connection) override;
    void on_drained(Connection& connection) override;
    bool wants_what_arrived() const override { return exchange_ != nullptr; }
    void on_closed(Connection& connection, CloseReason reason) override;

private:
    /// What is being waited for; lives in the frame of exchange().
    struct Exchange {
        Waiter waiter;
        const HttpCall& call;
        HttpReply reply;
        HttpBodySink* sink = nullptr;  ///< null: the body is collected
        Milliseconds patience = Milliseconds::max();  ///< the sink's, when last asked
        SteadyTime heard{};  ///< when the other side last said or took something
        std::uint64_t taken = 0;  ///< what it had taken by then
        std::uint64_t unsent = 0;  ///< what the request's source has still to give
        std::optional<BodyDecoder> body;  ///< once the head is there
        std::optional<Error> error;
        int interim = 0;  ///< 1xx heads that came before
        bool keep_alive = false;
        bool answered = false;  ///< a byte has come
        bool done = false;
    };
    Task<WaitEnd> wait_for_end(Exchange& under_way, Connection& connection, Deadline deadline);
    void feed();
    std::uint64_t max_body_bytes() const;  ///< of the answer under way
    std::size_t read_heads(std::string_view bytes);
    void read_body(std::string_view& bytes);
    bool hand_on(std::string_view piece);
    void pause_for_sink(Connection& connection);
    void end(std::optional<Error> error);

    TimerWheel& timers_;
    const std::size_t max_body_bytes_;
    std::shared_ptr<Connection> connection_;
    Exchange* exchange_ = nullptr;
    Owner* owner_ = nullptr;
    SteadyTime kept_since_{};
    bool spent_ = false;  ///< not to be used for another exchange
};

}  // namespace crab::net
