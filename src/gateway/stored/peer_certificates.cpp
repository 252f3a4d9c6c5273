#include "gateway/stored/peer_certificates.hpp"

#include "trust/named_principal.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/peer_check.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::size_t kMostKnown = 1024;

}  // namespace

Result<core::PrincipalRef> PeerCertificates::find(const std::string& der) {
    const SystemTime now = services_.clock.system_now();
    if (der.empty())
        return fail(ErrorCode::kUnauthenticated,
                    "show the certificate that this gateway issued when it paired you");
    auto known = known_.find(der);
    const bool holds = known != known_.end() &&
                       services_.peers.find(known->second.record->name) == known->second.record &&
                       now <= known->second.not_after;
    if (!holds) {
        if (known != known_.end()) known_.erase(known);
        auto judged = judge(der, now);
        if (!judged) return fail(std::move(judged.error()));
        if (known_.size() >= kMostKnown) known_.clear();
        known = known_.emplace(der, std::move(*judged)).first;
    }
    services_.peers.saw(known->second.record->name, now);
    return known->second.principal;
}

bool PeerCertificates::proves(const std::string& certificate_der) const {
    if (certificate_der.empty()) return false;
    const SystemTime now = services_.clock.system_now();
    const auto leaf = crypto::Certificate::from_der(certificate_der);
    if (!leaf || !crypto::check_chain(*leaf, services_.ca, now)) return false;
    const auto name = trust::peer_name_in(*leaf);
    const trust::PeerRef peer = name ? services_.peers.find(*name) : nullptr;
    return peer && trust::check_peer(*peer, *leaf, services_.ca, now).has_value();
}

Result<PeerCertificates::Known> PeerCertificates::judge(const std::string& certificate_der,
                                                        SystemTime now) {
    const auto leaf = crypto::Certificate::from_der(certificate_der);
    if (!leaf) return fail(ErrorCode::kUnauthenticated, "the certificate cannot be read");
    if (const auto chained = crypto::check_chain(*leaf, services_.ca, now); !chained)
        return fail(ErrorCode::kUnauthenticated, chained.error().message);
    const auto name = trust::peer_name_in(*leaf);
    if (!name) return fail(name.error());
    const trust::PeerRef peer = services_.peers.find(*name);
    if (!peer) return fail(ErrorCode::kForbidden, fmt::format("{} is not paired", name->text()));
    if (auto good = trust::check_peer(*peer, *leaf, services_.ca, now); !good) {
        if (good.error().code == ErrorCode::kPairingRequired)
            return fail(ErrorCode::kForbidden, std::move(good.error().message));
        services_.peers.mistrust(*name, good.error().message);
        services_.on_mismatch(*name, good.error().message);
        // The end of a renewal may have been lost on its way here; then the peer's next request
        // finds it completed.
        services_.pool.post([&peers = services_.peers, peer, fingerprint = leaf->fingerprint(),
                             now] { (void)complete_renewal(peers, *peer, fingerprint, now); });
        return fail(std::move(good.error()));
    }
    core::Principal principal = trust::principal_named(name->text(), std::nullopt);
    principal.credential_id = leaf->serial_number();
    return Known{.record = peer,
                 .principal = std::make_shared<const core::Principal>(std::move(principal)),
                 .not_after = leaf->not_after()};
}

}  // namespace crab::gateway
