#include "trust/pairing/peer_check.hpp"

#include <fmt/format.h>

namespace crab::trust {

Result<PeerName> peer_name_in(const crypto::Certificate& certificate) {
    const crypto::AltNames& names = certificate.alt_names();
    auto name = names.uris.size() == 1 && !names.others ? PeerName::from_uri(names.uris.front())
                                                        : std::nullopt;
    if (!name) return fail(ErrorCode::kForbidden, "the certificate names no peer");
    return std::move(*name);
}

std::string not_active(const PeerRecord& peer) {
    const auto says = [&](std::string_view step) {
        return fmt::format("{} is {}; {}", peer.name.text(), to_text(peer.status), step);
    };
    switch (peer.status) {
        case PeerStatus::kInactive:
            return says(fmt::format("crab peers enable {} uses it again", peer.name.text()));
        case PeerStatus::kRevoked:
            return says(
                "its certificate is no longer valid; pair it again with crab peers pair and "
                "--replace");
        case PeerStatus::kPending:
        case PeerStatus::kActive: break;
    }
    return says("its pairing has not come to its end; pair it again with crab peers pair");
}

Result<void> check_peer(const PeerRecord& peer, const crypto::Certificate& leaf,
                        const crypto::Certificate& ca, SystemTime now) {
    if (auto chained = crypto::check_chain(leaf, ca, now); !chained)
        return fail(ErrorCode::kUnauthenticated, chained.error().message);
    const auto name = peer_name_in(leaf);
    if (!name) return fail(name.error());
    if (*name != peer.name)
        return fail(ErrorCode::kForbidden, fmt::format("the certificate is that of {}, not of {}",
                                                       name->text(), peer.name.text()));
    if (peer.status != PeerStatus::kActive)
        return fail(ErrorCode::kPairingRequired, not_active(peer));
    if (!crypto::same_fingerprint(leaf.fingerprint(), peer.mtls_cert_fingerprint)) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("the certificate is not the recorded one of {}; if it was replaced "
                                "on purpose, pair with --replace",
                                peer.name.text()));
    }
    return {};
}

}  // namespace crab::trust
