#pragma once

#include "base/result.hpp"
#include "trust/pairing/peer_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// What the end of a handshake changes, all of it or nothing.
struct PairingCommit {
    /// What becomes of the certificate that the peer had so far.
    enum class OldCertificate : std::uint8_t { kRetire, kRevoke };

    /// As it is from now on; its serial number is that of an issued certificate
    PeerRecord record;
    /// The name's record as the handshake found it; none, or pending: nothing to protect
    std::optional<PeerRecord> previous;
    OldCertificate old_certificate = OldCertificate::kRetire;
    SystemTime at;
};

/// Where the gateway keeps its peers and all certificates it issued, as far as pairing needs it.
/// Every function may block, is atomic, and durable when it returns. Thread-safe. Errors:
/// kUnavailable (disk full, busy, I/O), kInternal.
class PairingStore {
public:
    virtual ~PairingStore() = default;

    virtual Result<std::optional<PeerRecord>> find_peer(const PeerName& name) = 0;
    /// The active record at this endpoint; there is at most one.
    virtual Result<std::optional<PeerRecord>> find_active_at(std::string_view endpoint) = 0;
    /// By fingerprint in lower case.
    virtual Result<std::optional<PeerCertificate>> find_certificate(
        std::string_view fingerprint) = 0;
    /// Whether a certificate was ever issued for this public key (SHA-256 of its DER).
    virtual Result<bool> has_key(const crypto::Sha256Digest& key_digest) = 0;

    /// Adds a certificate in state kIssued. `pending` is stored as well if its name has no record,
    /// or a pending one.
    virtual Result<void> add_certificate(const PeerCertificate& certificate,
                                         const PeerRecord& pending) = 0;

    /// In one transaction: (1) the stored record of the name still has the status and pin of
    /// `previous`, or is none or pending as `previous` is; (2) the certificate with the record's
    /// serial number, in state kIssued, becomes kCurrent; (3) the name's other certificates that
    /// are kIssued become kRetired, those that are kCurrent what `old_certificate` says, with
    /// `replaced` as the reason; (4) another active record at the same endpoint becomes inactive,
    /// if this record is active; (5) the record is stored. Errors: also kConflict when (1) or (2)
    /// does not hold, and then nothing has changed.
    virtual Result<void> commit(const PairingCommit& commit) = 0;
};

/// Whether (1) of PairingStore::commit() holds for what is stored now.
inline bool is_unchanged(const std::optional<PeerRecord>& stored,
                         const std::optional<PeerRecord>& previous) {
    const auto counts = [](const std::optional<PeerRecord>& record) {
        return record && record->status != PeerStatus::kPending;
    };
    if (!counts(stored) || !counts(previous)) return counts(stored) == counts(previous);
    return stored->status == previous->status &&
           stored->mtls_cert_fingerprint == previous->mtls_cert_fingerprint;
}

}  // namespace crab::trust
