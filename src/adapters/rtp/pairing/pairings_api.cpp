#include "adapters/rtp/pairing/pairings_api.hpp"

#include "adapters/rtp/pairing/peers_wire.hpp"
#include "net/codec/http_text.hpp"

#include <utility>

namespace crab::rtp {
namespace {}  // namespace

/// One admin client's WebSocket: a question, an answer, the end.
class PairingsApi::Socket final : public net::WebSocketHandler,
                                  public std::enable_shared_from_this<Socket> {
public:
    explicit Socket(PairingsApi& api) : api_(api) {}

    void on_open(net::WebSocketSession& session) override { session_ = session.shared_from_this(); }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        if (std::exchange(asked_, true) || api_.stopping_) return;
        api_.tasks_.spawn(
            "pairing over a WebSocket",
            api_.pair_over(shared_from_this(), std::string(text.data(), text.size())));
    }
    void on_closed(net::WebSocketSession&, const net::CloseInfo&) override { session_.reset(); }
    void answer(std::string_view text) {
        if (!session_) return;
        session_->send_text(text);
        session_->close(1000, {});
    }

private:
    PairingsApi& api_;
    std::shared_ptr<net::WebSocketSession> session_;  // while it is open
    bool asked_ = false;
};

void PairingsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.method = net::Method::kPost,
                .path = "/v1/pairings",
                .summary = "Pair with a component",
                .request = "pairing_request",
                .answers = {{200, "pairing"}},
                .refusals = {400, 409, 502, 504}},
               [this](const Request& request) { return pair(request.exchange); });
    routes.add_websocket(
        {.path = "/v1/pairings/ws", .summary = "The same over a WebSocket"},
        [](const Request& request) {
            request.exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket",
                                           {{"Upgrade", "websocket"}});
        },
        [this](const net::HttpRequest&, const net::WebSocketOffer&, const core::PrincipalRef&) {
            return net::AcceptUpgrade{.handler = std::make_shared<Socket>(*this),
                                      .options = {.max_message_bytes = 64 * 1024}};
        });
    routes.add(
        {.method = net::Method::kPost,
         .path = "/v1/peers/{component_type}/{component_id}/renew",
         .summary = "Renew a peer's certificate",
         .answers = {{200, "peer"}},
         .refusals = {400, 404, 409, 502, 504}},
        [this](const Request& request) { return renew(request.exchange, request.arguments); });
}

Task<void> PairingsApi::pair(net::HttpExchange& exchange) {
    auto request = parse_pairing(exchange.request().body);
    if (!request) {
        refuse_pairing(exchange, request.error());
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    const auto paired = co_await dialer_.pair(std::move(*request));
    if (!paired) {
        refuse_pairing(exchange, paired.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    append_paired(writer, *paired);
    exchange.finish_response();
}

Task<void> PairingsApi::pair_over(std::shared_ptr<Socket> socket, std::string text) {
    auto request = parse_pair_start(text);
    if (!request) {
        socket->answer(pair_result(std::unexpected(request.error())));
        co_return;
    }
    const auto outcome = co_await dialer_.pair(std::move(*request));
    socket->answer(pair_result(outcome));
}

Task<void> PairingsApi::renew(net::HttpExchange& exchange, const net::PathArguments& arguments) {
    auto name = named_peer(exchange, arguments);
    if (!name) co_return;
    if (const auto empty = parse_nothing(exchange.request().body); !empty) {
        refuse_pairing(exchange, empty.error());
        co_return;
    }
    if (!peers_.find(*name)) {
        respond_unknown_peer(exchange);
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    trust::PairingRequest request{.name = std::move(*name),
                                  .kind = trust::PairingRequest::Kind::kRenew};
    const auto renewed = co_await dialer_.pair(std::move(request));
    renewed ? respond_peer(exchange, renewed->peer) : refuse_pairing(exchange, renewed.error());
}

}  // namespace crab::rtp
