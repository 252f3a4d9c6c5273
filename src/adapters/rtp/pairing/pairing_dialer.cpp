#include "adapters/rtp/pairing/pairing_dialer.hpp"

#include "base/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using trust::PairingCode;
using trust::PairingEndpoint;
using trust::PairingRequest;
using trust::refuse;

std::unexpected<trust::PairingError> unreachable(const PairingEndpoint& endpoint,
                                                 const Error& error) {
    if (error.code == ErrorCode::kTimeout)
        return refuse(PairingCode::kTimeout,
                      fmt::format("{} did not answer in time: {}", endpoint.text(), error.message));
    return refuse(PairingCode::kUnreachable, fmt::format("{}: {}", endpoint.text(), error.message));
}

/// Where `request` leads, in the form in which slots and records compare it.
trust::PairingResult<std::string> endpoint_of(trust::PeerStore& store,
                                              const PairingRequest& request) {
    std::string endpoint = request.endpoint;
    if (request.kind == PairingRequest::Kind::kRenew) {
        const auto peer = store.find_peer(request.name);
        if (!peer)
            return refuse(PairingCode::kPersistFailed,
                          fmt::format("the peers cannot be read: {}", peer.error().message));
        if (!*peer)
            return refuse(PairingCode::kInvalidArgs,
                          fmt::format("{} is not paired", request.name.text()));
        endpoint = (*peer)->endpoint;
    }
    const auto parsed = PairingEndpoint::parse(endpoint);
    if (!parsed) return std::unexpected(parsed.error());
    return parsed->text();
}

}  // namespace

struct PairingDialer::Line {
    std::shared_ptr<PairingLink> link;
    std::optional<crypto::Certificate> leaf;  // what the remote showed on wss
};

Task<trust::PairingResult<Paired>> PairingDialer::pair(PairingRequest request,
                                                       PairingInitiator initiator) {
    const std::string peer = request.name.text();
    auto find_endpoint = [&store = services_.store, request] {
        return endpoint_of(store, request);
    };
    const auto endpoint = co_await services_.pool.run(std::move(find_endpoint));
    if (!endpoint) co_return std::unexpected(endpoint.error());
    const auto slot = slots_.take(request.name, *endpoint);
    if (!slot) co_return std::unexpected(slot.error());
    auto decide = [&store = services_.store, rules = services_.rules,
                   request = std::move(request)] { return plan_pairing(store, request, rules); };
    auto plan = co_await services_.pool.run(std::move(decide));
    if (!plan) co_return std::unexpected(plan.error());

    auto paired = co_await pair_planned(std::move(*plan), initiator);
    if (paired) {
        log::info("paired",
                  {{"peer_id", peer}, {"pairing_id", paired->pairing_id}, {"endpoint", *endpoint}});
    } else {
        log::warn("not paired", {{"peer_id", peer},
                                 {"endpoint", *endpoint},
                                 {"code", token_of(paired.error().code)},
                                 {"reason", paired.error().message}});
    }
    co_return paired;
}

Task<trust::PairingResult<Paired>> PairingDialer::pair_planned(trust::PairingPlan plan,
                                                               PairingInitiator initiator) {
    const Clock& clock = services_.loop.clock();
    const Deadline deadline = clock.steady_now() + trust::kPairingTimeout;
    PairingUpdate news{.pairing_id = {},
                       .remote_uri = plan.endpoint.text(),
                       .initiator = initiator,
                       .remote = plan.request.name,
                       .peer = {},
                       .error = {}};
    const auto tell = [&](PairingUpdate::Kind kind) {
        news.kind = kind;
        if (services_.told) services_.told(news);
    };
    trust::GatewayPairing::Gateway gateway{.id = services_.keys.identity.gateway_id,
                                           .key = services_.keys.identity.key,
                                           .authority = services_.keys.authority,
                                           .store = services_.store,
                                           .clock = clock,
                                           .random = services_.random};
    const auto machine =
        std::make_shared<trust::GatewayPairing>(std::move(gateway), std::move(plan), deadline);

    news.pairing_id = machine->pairing_id();
    tell(PairingUpdate::Kind::kStarted);
    auto peer = co_await shake_hands(machine, deadline);
    if (!peer) {
        news.error = peer.error();
        tell(PairingUpdate::Kind::kFailed);
        co_return std::unexpected(std::move(peer.error()));
    }
    news.peer = *peer;
    tell(PairingUpdate::Kind::kCompleted);
    co_return Paired{machine->pairing_id(), std::move(*peer)};
}

Task<trust::PairingResult<trust::PeerRecord>> PairingDialer::shake_hands(Machine machine,
                                                                         Deadline deadline) {
    auto line = co_await dial(machine->plan(), deadline);
    if (!line) co_return std::unexpected(line.error());
    auto begin = [machine, leaf = std::move(line->leaf)] { return machine->start(leaf); };
    auto first = co_await services_.pool.run(std::move(begin));
    const auto end =
        co_await drive_pairing(line->link, services_.pool, machine, std::move(first), deadline);
    if (end.error) co_return std::unexpected(*end.error);
    co_return *machine->peer();
}

Task<trust::PairingResult<PairingDialer::Line>> PairingDialer::dial(const trust::PairingPlan& plan,
                                                                    Deadline deadline) {
    const PairingEndpoint& endpoint = plan.endpoint;
    net::WebSocketTarget target;
    auto addresses = co_await services_.names.find(
        services_.loop, net::Endpoint::tcp(endpoint.host, endpoint.port), deadline);
    if (!addresses) co_return unreachable(endpoint, addresses.error());
    target.server.addresses = std::move(*addresses);
    target.server.server_name = endpoint.host;
    if (endpoint.tls) {
        auto tls = tls_for(plan);
        if (!tls)
            co_return refuse(PairingCode::kInternal,
                             fmt::format("the gateway's own certificate: {}", tls.error().message));
        target.server.tls = std::move(*tls);
    }
    target.host = endpoint.authority();
    target.target = endpoint.target();
    target.options = PairingLink::options();

    const auto link = std::make_shared<PairingLink>(services_.loop);
    auto opened = co_await net::websocket_connect(services_.loop, target, link, deadline);
    if (!opened && opened.error().code == ErrorCode::kNotFound && endpoint.has_second_target()) {
        target.target = "/";
        opened = co_await net::websocket_connect(services_.loop, target, link, deadline);
    }
    if (!opened) co_return unreachable(endpoint, opened.error());
    Line line{link, {}};
    net::Connection* const connection = opened->session->connection();
    if (connection == nullptr)
        co_return refuse(
            PairingCode::kUnreachable,
            fmt::format("{}: the connection ended before the handshake began", endpoint.text()));
    const std::string der = connection->peer_certificate_der();
    if (!der.empty()) {
        auto leaf = crypto::Certificate::from_der(der);
        if (!leaf) {
            link->abort();
            co_return refuse(PairingCode::kUnreachable,
                             fmt::format("{}: its certificate cannot be read: {}", endpoint.text(),
                                         leaf.error().message));
        }
        line.leaf = std::move(*leaf);
    }
    co_return line;
}

/// Whatever certificate the remote shows to the gateway's own is accepted here and judged by
/// GatewayPairing::start(), before a byte is sent.
Result<std::shared_ptr<net::TlsContext>> PairingDialer::tls_for(const trust::PairingPlan& plan) {
    if (plan.tls_trust() == trust::TlsTrust::kOperatorCa) return services_.operator_tls;
    return services_.tls.client();
}

}  // namespace crab::rtp
