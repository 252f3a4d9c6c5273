#pragma once

#include "net/codec/http_body.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/http_server.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace crab::net {

/// HTTP/1.1 on one connection: collects a request, has it served, then takes the next; until it
/// ends or becomes a WebSocket. One coroutine serves all requests of a connection; it starts with
/// the first one.
class HttpSession final : public ConnectionHandler,
                          private TimerNode,
                          public std::enable_shared_from_this<HttpSession> {
public:
    enum class Admission : std::uint8_t { kServed, kTooMany };

    HttpSession(HttpServer& server, Admission admission,
                std::shared_ptr<ConnectionSlots::Slot> slot);
    ~HttpSession() override;

    /// Ends when what is being served or received has been answered; at once when that is nothing.
    void finish();
    /// Ends at once; what is being served is cancelled.
    void stop();
    /// It counts as a connection no more.
    void release_slot() {
        exchange_.slot_ = nullptr;
        slot_.reset();
    }

    void on_open(Connection& connection) override;
    std::size_t on_bytes(Connection& connection, std::span<char> bytes) override;
    void on_end_of_stream(Connection& connection) override;
    void on_drained(Connection& connection) override;
    void on_closed(Connection& connection, CloseReason reason) override;

private:
    enum class Phase : std::uint8_t { kHead, kBody, kServing, kOver };
    std::size_t take_head(std::string_view bytes);
    void keep_path(std::string_view bytes);
    std::size_t take_body(std::string_view bytes);
    std::size_t take_streamed_body(std::string_view bytes);
    void begin_exchange();
    void begin_body();
    void begin_streamed_body();
    void begin_without_body();
    bool hold(std::size_t bytes);
    void begin_serving();
    void complete();
    bool try_upgrade();
    void refuse(const Refusal& refusal);
    void accept_upgrade(const WebSocketUpgrade& offer, AcceptUpgrade accepted);
    void serve();
    Task<void> run(std::shared_ptr<HttpSession> self);
    void finish_exchange(std::string_view failure);
    void tell_answered(int status);
    /// How much of a head could be read; kPath: method and path, but not who asks.
    enum class Head : std::uint8_t { kUnknown, kPath, kKnown };
    Head part_of_head() const;
    void refuse(Head head, int status, std::string_view reason);
    void respond_refusal(Head head, int status, std::string_view reason,
                         std::span<const HttpHeader> extra = {});
    void cancel_exchange();
    void leave_exchange_alone();
    void set_deadline(Deadline deadline);
    void on_expired() override;

    HttpServer& server_;
    Connection* connection_ = nullptr;
    // among the server's connections, from accept on
    std::shared_ptr<ConnectionSlots::Slot> slot_;
    HttpExchange exchange_;
    std::optional<BodyDecoder> body_;
    HeldBytes held_;  // of a body that did not come with its head
    std::size_t head_bytes_ = 0;
    Wakeup ready_;  // a request is complete, or it is over
    CancelSignal cancel_;
    Deadline deadline_ = kNoDeadline;
    SteadyTime began_{};  // the iteration in which the head was complete
    Deadline armed_at_ = kNoDeadline;
    Phase phase_ = Phase::kHead;
    Admission admission_;
    bool head_begun_ = false;
    bool head_taken_ = false;  // in this on_bytes()
    bool running_ = false;  // the coroutine
};

}  // namespace crab::net
