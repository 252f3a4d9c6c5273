#include "trust/pairing/remote_store.hpp"

#include "trust/pairing/peer_name.hpp"

namespace crab::trust {

Result<void> check_gateway_certificate(const InstalledCertificate& certificate,
                                       const crypto::Certificate& client, SystemTime now) {
    const auto ca = crypto::Certificate::from_pem(certificate.ca_pem);
    if (!ca)
        return fail(ErrorCode::kForbidden,
                    "the stored pairing authority cannot be read; pair again");
    if (auto chained = crypto::check_chain(client, *ca, now); !chained)
        return fail(ErrorCode::kUnauthenticated, chained.error().message);
    const crypto::AltNames& names = client.alt_names();
    if (names.uris != std::vector{gateway_uri(certificate.gateway_id)} || names.others) {
        return fail(ErrorCode::kForbidden,
                    "the certificate is not that of the gateway that paired this component");
    }
    return {};
}

Result<bool> complete_by_gateway(RemoteStore& store, const crypto::Certificate& client,
                                 SystemTime now) {
    const auto known = store.load();
    if (!known) return fail(known.error());
    if (!known->installed || !check_gateway_certificate(*known->installed, client, now))
        return false;
    if (auto done = store.complete(known->installed->pairing_id); !done) return fail(done.error());
    return true;
}

}  // namespace crab::trust
