#pragma once

#include "base/clock.hpp"
#include "crypto/certificate_authority.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/random_source.hpp"
#include "trust/pairing/pairing_machine.hpp"
#include "trust/pairing/pairing_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// The gateway's side of one pairing, without a socket: texts in, texts out. Not thread-safe;
/// start() and on_message() block on the store. The first check that fails ends it with a
/// pair.error and changes no record. Source: docs/protocols/rtp.md, sections 5.3 to 5.8.
class GatewayPairing final : public PairingMachine {
public:
    /// Must outlive the handshake.
    struct Gateway {
        std::string id;
        const crypto::Ed25519Key& key;
        const crypto::CertificateAuthority& authority;
        PairingStore& store;
        const Clock& clock;
        crypto::RandomSource& random;
    };

    /// `deadline` is the dial's time and kPairingTimeout.
    GatewayPairing(Gateway gateway, PairingPlan plan, Deadline deadline);

    /// Judges the connection and begins. `leaf` is the remote's certificate on `wss`, nothing on
    /// `ws`. What PairingPlan::tls_trust() leaves to the TLS layer has been checked.
    PairingStep start(const std::optional<crypto::Certificate>& leaf);
    /// After start().
    PairingStep on_message(std::string_view text);

    const std::string& pairing_id() const { return pairing_id_; }
    const PairingPlan& plan() const { return plan_; }
    /// What the remote said of itself and proved with its signature; nothing before pair.identity
    /// passed its checks.
    const std::optional<PairIdentity>& identity() const { return identity_; }
    /// The committed record; nothing before success.
    const std::optional<PeerRecord>& peer() const { return peer_; }

private:
    enum class State : std::uint8_t {
        kBefore,
        kIdentity,
        kChallengeResponse,
        kCsrRequest,
        kCsrInstalled
    };

    PairingResult<void> check_connection(const std::optional<crypto::Certificate>& leaf);
    Texts next(const MessageText& text) override;
    PairingError on_complaint(const PairError& complaint) override;
    bool is_complete() const override { return peer_.has_value(); }
    std::string_view what_a_lost_connection_means() const override;
    Texts on_identity(const PairIdentity& identity);
    Texts on_challenge_response(const PairChallengeResponse& response);
    Texts on_csr_request(const PairCsrRequest& request);
    Texts on_csr_installed(const PairCsrInstalled& installed);

    Gateway gateway_;
    PairingPlan plan_;
    State state_ = State::kBefore;
    std::string leaf_fingerprint_;  // of this connection; empty on ws
    std::string challenge_id_, plaintext_;
    std::optional<PairIdentity> identity_;
    std::optional<PeerRecord> issued_;  // the record as it will be committed
    std::optional<PeerRecord> peer_;
};

/// A remote of the active record `peer` showed a certificate that is not its pin. If that is one of
/// a renewal of this very pin whose end got lost, at most 24 h old, the renewal is completed and
/// the new record returned; else nothing. Errors: those of the store. Source:
/// docs/protocols/rtp.md, section 5.8.
Result<std::optional<PeerRecord>> complete_renewal(PairingStore& store, const PeerRecord& peer,
                                                   std::string_view fingerprint, SystemTime now);

}  // namespace crab::trust
