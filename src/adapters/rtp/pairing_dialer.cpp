#include "adapters/rtp/pairing_dialer.hpp"

#include "base/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using trust::PairingCode;
using trust::PairingEndpoint;
using trust::PairingRequest;
using trust::refuse;

/// A lookup that blocks on a pool thread for as long as it likes, while its asker waits for as long as it may.
struct Lookup : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    Result<std::vector<net::SocketAddress>> found = fail(ErrorCode::kTimeout, "the name was not resolved in time");
};

std::unexpected<trust::PairingError> unreachable(const PairingEndpoint& endpoint, const Error& error) {
    if (error.code == ErrorCode::kTimeout) return refuse(PairingCode::kTimeout, fmt::format("{} did not answer in time: {}", endpoint.text(), error.message));
    return refuse(PairingCode::kUnreachable, fmt::format("{}: {}", endpoint.text(), error.message));
}

/// Where `request` leads, in the form in which slots and records compare it.
trust::PairingResult<std::string> endpoint_of(trust::PeerStore& store, const PairingRequest& request) {
    std::string endpoint = request.endpoint;
    if (request.kind == PairingRequest::Kind::kRenew) {
        const auto peer = store.find_peer(request.name);
        if (!peer) return refuse(PairingCode::kPersistFailed, fmt::format("the peers cannot be read: {}", peer.error().message));
        if (!*peer) return refuse(PairingCode::kInvalidArgs, fmt::format("{} is not paired", request.name.text()));
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

Task<trust::PairingResult<Paired>> PairingDialer::pair(PairingRequest request) {
    const std::string peer = request.name.text();
    auto find_endpoint = [&store = services_.store, request] { return endpoint_of(store, request); };
    const auto endpoint = co_await services_.pool.run(std::move(find_endpoint));
    if (!endpoint) co_return std::unexpected(endpoint.error());
    const auto slot = slots_.take(request.name, *endpoint);
    if (!slot) co_return std::unexpected(slot.error());
    auto decide = [&store = services_.store, rules = services_.rules, request = std::move(request)] { return plan_pairing(store, request, rules); };
    auto plan = co_await services_.pool.run(std::move(decide));
    if (!plan) co_return std::unexpected(plan.error());

    auto paired = co_await pair_planned(std::move(*plan));
    if (paired) {
        log::info("paired", {{"peer_id", peer}, {"pairing_id", paired->pairing_id}, {"endpoint", *endpoint}});
    } else {
        log::warn("not paired", {{"peer_id", peer}, {"endpoint", *endpoint}, {"code", token_of(paired.error().code)}, {"reason", paired.error().message}});
    }
    co_return paired;
}

Task<trust::PairingResult<Paired>> PairingDialer::pair_planned(trust::PairingPlan plan) {
    const Clock& clock = services_.loop.clock();
    const Deadline deadline = clock.steady_now() + trust::kPairingTimeout;
    const PairingEndpoint endpoint = plan.endpoint;
    trust::GatewayPairing::Gateway gateway{.id = services_.keys.identity.gateway_id, .key = services_.keys.identity.key, .authority = services_.keys.authority,
                                           .store = services_.store, .clock = clock, .random = services_.random};
    const auto machine = std::make_shared<trust::GatewayPairing>(std::move(gateway), std::move(plan), deadline);

    auto line = co_await dial(endpoint, deadline);
    if (!line) co_return std::unexpected(line.error());
    auto begin = [machine, leaf = std::move(line->leaf)] { return machine->start(leaf); };
    auto first = co_await services_.pool.run(std::move(begin));
    const auto end = co_await drive_pairing(line->link, services_.pool, machine, std::move(first), deadline);
    if (end.error) co_return std::unexpected(*end.error);
    co_return Paired{machine->pairing_id(), *machine->peer()};
}

Task<trust::PairingResult<PairingDialer::Line>> PairingDialer::dial(const PairingEndpoint& endpoint, Deadline deadline) {
    net::WebSocketTarget target;
    auto addresses = co_await find_addresses(net::Endpoint::tcp(endpoint.host, endpoint.port), deadline);
    if (!addresses) co_return unreachable(endpoint, addresses.error());
    target.server.addresses = std::move(*addresses);
    target.server.server_name = endpoint.host;
    if (endpoint.tls) {
        auto tls = co_await own_tls();
        if (!tls) co_return refuse(PairingCode::kInternal, fmt::format("the gateway's own certificate: {}", tls.error().message));
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
    if (connection == nullptr) co_return refuse(PairingCode::kUnreachable, fmt::format("{}: the connection ended before the handshake began", endpoint.text()));
    const std::string der = connection->peer_certificate_der();
    if (!der.empty()) {
        auto leaf = crypto::Certificate::from_der(der);
        if (!leaf) {
            link->abort();
            co_return refuse(PairingCode::kUnreachable, fmt::format("{}: its certificate cannot be read: {}", endpoint.text(), leaf.error().message));
        }
        line.leaf = std::move(*leaf);
    }
    co_return line;
}

Task<Result<std::vector<net::SocketAddress>>> PairingDialer::find_addresses(net::Endpoint endpoint, Deadline deadline) {
    if (const auto plain = net::to_socket_address(endpoint)) co_return std::vector{*plain};
    const auto lookup = std::make_shared<Lookup>(services_.loop.executor(), services_.loop.timers());
    services_.pool.post([lookup, endpoint] {
        lookup->found = net::resolve(endpoint);
        lookup->wake();
    });
    switch (co_await lookup->wait(deadline)) {
        case WaitEnd::kWoken: co_return std::move(lookup->found);
        case WaitEnd::kExpired: co_return fail(ErrorCode::kTimeout, "the name was not resolved in time");
        case WaitEnd::kCancelled: break;
    }
    co_return fail(ErrorCode::kCancelled, "the gateway is stopping");
}

/// Made when it is first needed and again when less than 30 days remain. Whatever certificate the remote shows is accepted here and
/// judged by GatewayPairing::start(), before a byte is sent.
Task<Result<std::shared_ptr<net::TlsContext>>> PairingDialer::own_tls() {
    constexpr auto kRemade = std::chrono::days(30);
    const SystemTime now = services_.loop.clock().system_now();
    if (tls_ && tls_not_after_ - now >= kRemade) co_return tls_;
    auto issue = [&keys = services_.keys, now] { return keys.issue_own({}, now); };
    const auto own = co_await services_.pool.run(std::move(issue));
    if (!own) co_return fail(own.error());
    net::TlsContext::Options options;
    options.role = net::TlsContext::Role::kClient;
    options.versions = net::TlsContext::Versions::k13Only;
    options.peer_check = net::TlsContext::PeerCheck::kAcceptAny;
    options.certificate.text = own->certificate.to_pem();
    options.key.text = own->key.to_pem().reveal();
    auto made = net::TlsContext::make(std::move(options));
    if (!made) co_return fail(std::move(made.error()));
    tls_ = std::move(*made);
    tls_not_after_ = own->certificate.not_after();
    co_return tls_;
}

}  // namespace crab::rtp
