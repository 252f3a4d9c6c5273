#include "adapters/rtp/hosts/peer_route.hpp"

#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/peer_check.hpp"

#include <fmt/format.h>

namespace crab::rtp {

Result<PeerRoute::Base> PeerRoute::base_of(const trust::PeerRecord& peer) {
    constexpr std::string_view kScheme = "https";
    const bool overridden = peer.tool_url.starts_with(kScheme);
    // A pairing endpoint and an https URL have the same form and the same default port.
    auto parsed = trust::PairingEndpoint::parse(
        overridden ? "wss" + peer.tool_url.substr(kScheme.size()) : peer.endpoint);
    if (!parsed)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{}: {}", peer.name.text(), parsed.error().message));
    Base base{.server = std::move(*parsed), .path = {}};
    if (overridden) base.path = base.server.path;
    while (base.path.ends_with('/')) base.path.pop_back();
    return base;
}

net::HttpAuthority PeerRoute::authority() {
    net::HttpAuthority authority;
    authority.host = base_.server.authority();
    authority.find_server = [self = shared_from_this()](Deadline deadline) {
        return self->find_server(deadline);
    };
    authority.check_certificate = [self = shared_from_this()](std::string der) {
        return self->judge(std::move(der));
    };
    return authority;
}

Task<Result<net::DialTarget>> PeerRoute::find_server(Deadline deadline) {
    const trust::PeerRef peer = services_.peers.find(name_);
    if (!peer)
        co_return fail(ErrorCode::kPairingRequired,
                       fmt::format("{} is not paired; pair it with crab peers pair", name_.text()));
    if (peer->status != trust::PeerStatus::kActive)
        co_return fail(ErrorCode::kPairingRequired, trust::not_active(*peer));
    net::DialTarget target;
    auto tls = services_.tls.client();
    if (!tls) co_return fail(std::move(tls.error()));
    target.tls = std::move(*tls);
    target.server_name = base_.server.host;
    auto addresses = co_await services_.names.find(
        *net::EventLoop::current(), net::Endpoint::tcp(base_.server.host, base_.server.port),
        deadline);
    if (!addresses) co_return fail(std::move(addresses.error()));
    target.addresses = std::move(*addresses);
    co_return target;
}

Task<Result<void>> PeerRoute::judge(std::string certificate_der) {
    const SystemTime now = net::EventLoop::current()->clock().system_now();
    const trust::PeerRef peer = services_.peers.find(name_);
    const auto leaf = crypto::Certificate::from_der(certificate_der);
    Result<void> good;
    if (!peer) {
        good = fail(ErrorCode::kPairingRequired,
                    fmt::format("{} is not paired; pair it with crab peers pair", name_.text()));
    } else if (!leaf) {
        good = fail(ErrorCode::kForbidden,
                    fmt::format("{} showed no certificate that can be read", name_.text()));
    } else {
        good = trust::check_peer(*peer, *leaf, services_.ca, now);
    }
    if (!good && peer && leaf &&
        !crypto::same_fingerprint(leaf->fingerprint(), peer->mtls_cert_fingerprint)) {
        // The end of a renewal may have been lost on its way here.
        auto complete = [&peers = services_.peers, peer, fingerprint = leaf->fingerprint(), now] {
            return complete_renewal(peers, *peer, fingerprint, now);
        };
        const auto renewed = co_await services_.pool.run(std::move(complete));
        if (renewed && *renewed) good = trust::check_peer(**renewed, *leaf, services_.ca, now);
    }
    if (good) {
        services_.peers.saw(name_, now);
        co_return good;
    }
    if (good.error().code == ErrorCode::kPairingRequired) co_return good;
    services_.peers.mistrust(name_, good.error().message);
    if (services_.on_mismatch) services_.on_mismatch(name_, good.error().message);
    co_return fail(ErrorCode::kForbidden, std::move(good.error().message));
}

}  // namespace crab::rtp
