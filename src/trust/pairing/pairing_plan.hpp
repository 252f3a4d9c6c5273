#pragma once

#include "trust/pairing/endpoint.hpp"
#include "trust/pairing/pairing_store.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace crab::trust {

/// What an operator, or the daily check, asks for.
struct PairingRequest {
    enum class Kind : std::uint8_t {
        kPair,
        kReplace,  ///< `--replace`: whatever was known of this id or endpoint does not count
        kRenew,    ///< of an active peer, by its name; the endpoint is the record's
    };

    PeerName name;
    std::string endpoint;
    std::optional<crypto::Ed25519PublicKey> remote_key;  ///< `--remote-key`
    Kind kind = Kind::kPair;
    bool is_test = false;  ///< the record ends as inactive
};

struct PairingRules {
    bool allow_insecure_loopback = true;
    bool has_operator_ca = false;  ///< files `ca`, `cert`, `key` are configured
};

/// What a `wss` connection must prove before pair.init is sent.
enum class TlsTrust : std::uint8_t {
    kFirstUse,    ///< a certificate that is valid now; pair.identity then signs its fingerprint
    /// Also, by the TLS layer: a chain to the operator's CA and the endpoint's host name
    kOperatorCa,
    kPin,         ///< the recorded certificate, or that of an unfinished renewal; valid now
};

/// A handshake that may be dialled.
struct PairingPlan {
    PairingRequest request;
    PairingEndpoint endpoint;
    std::optional<PeerRecord> previous;  ///< what is stored under this name
    /// The remote is known: it must show the recorded pin (on `wss`) and keys. Then `previous` is
    /// its active record.
    bool is_known = false;

    TlsTrust tls_trust() const {
        return is_known          ? TlsTrust::kPin
               : has_operator_ca ? TlsTrust::kOperatorCa
                                 : TlsTrust::kFirstUse;
    }
    bool has_operator_ca = false;
};

/// Decides whether `request` may be dialled and what the remote must prove; looks at the store and
/// at nothing else. Errors: kInvalidArgs; kMtlsRequired; kPeerExists for an id that is active
/// elsewhere or revoked, and for an endpoint that is active under another id; kPersistFailed when
/// the store cannot be read. Source: docs/protocols/rtp.md, section 5.1.
PairingResult<PairingPlan> plan_pairing(PairingStore& store, PairingRequest request,
                                        const PairingRules& rules);

}  // namespace crab::trust
