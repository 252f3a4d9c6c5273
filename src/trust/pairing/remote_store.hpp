#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/certificate.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// What a remote got from a pairing: its certificate with the key, and whom to trust.
struct InstalledCertificate {
    std::string pairing_id;
    std::string gateway_id;
    Secret<std::string> key_pem;
    std::string certificate_pem;
    std::string ca_pem;  ///< the authority that the gateway's own certificate chains to
};

/// The two certificates that a remote may hold at one time.
struct RemoteCertificates {
    std::optional<InstalledCertificate> paired;     ///< of the last pairing that was completed
    std::optional<InstalledCertificate> installed;  ///< of a later one whose end has not been seen

    /// What TLS shows; nothing: the self-signed one from before any pairing.
    const InstalledCertificate* shown() const {
        return installed ? &*installed : paired ? &*paired : nullptr;
    }
};

/// A remote's store of pairing results. Every function may block, is atomic, and durable when it
/// returns. Errors: kUnavailable, kInternal.
class RemoteStore {
public:
    /// How long a nonce must not come again.
    static constexpr std::chrono::minutes kNonceLife{15};

    virtual ~RemoteStore() = default;

    virtual Result<RemoteCertificates> load() = 0;
    /// Remembers the nonce of a pair.init at `now`; false if it came within the last kNonceLife.
    /// Older ones may be forgotten.
    virtual Result<bool> add_nonce(std::string_view nonce, SystemTime now) = 0;
    /// Makes this the installed certificate, in place of an earlier one that was never completed.
    virtual Result<void> install(const InstalledCertificate& certificate) = 0;
    /// The installed certificate of this pairing becomes the paired one; nothing happens if there
    /// is none.
    virtual Result<void> complete(std::string_view pairing_id) = 0;
    /// Forgets the installed certificate of this pairing, if there is one: the paired one, if any,
    /// is shown again.
    virtual Result<void> go_back(std::string_view pairing_id) = 0;
};

/// Whether `client` is the certificate of the gateway that gave `certificate`: chain to that CA, in
/// time, and exactly that gateway's URI among its names. Errors: kUnauthenticated for chain and
/// time, kForbidden for the name.
Result<void> check_gateway_certificate(const InstalledCertificate& certificate,
                                       const crypto::Certificate& client, SystemTime now);

/// A client proved itself with `client` in TLS. If it is the gateway of an installed certificate
/// whose pair.complete got lost, that pairing is completed and true returned. Errors: those of the
/// store. Source: docs/protocols/rtp.md, section 5.8.
Result<bool> complete_by_gateway(RemoteStore& store, const crypto::Certificate& client,
                                 SystemTime now);

}  // namespace crab::trust
