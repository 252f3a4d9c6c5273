#pragma once

#include "base/clock.hpp"
#include "crypto/alt_names.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/private_key.hpp"
#include "crypto/x25519.hpp"
#include "trust/pairing/pairing_machine.hpp"
#include "trust/pairing/remote_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// The remote's side of one pairing, without a socket: it waits for the gateway's first text. Not
/// thread-safe; on_message() blocks on the store. Unknown, expired or replayed messages get no
/// information about this remote. Source: docs/protocols/rtp.md, sections 5.3 to 5.8.
class RemotePairing final : public PairingMachine {
public:
    /// Who this remote is and what outlives the handshake.
    struct Remote {
        PeerName name;
        const crypto::Ed25519Key& key;
        const crypto::X25519Key& agreement_key;
        crypto::Ed25519PublicKey gateway_key;  ///< the one gateway that may pair, by configuration
        /// Of the certificate that this connection shows; empty on `ws`
        std::string shown_fingerprint;
        /// DNS names and addresses that the remote would like in its certificate
        crypto::AltNames endpoint_names;
        RemoteStore& store;
        const Clock& clock;
    };

    /// `deadline` is the upgrade's time and kPairingTimeout.
    RemotePairing(Remote remote, Deadline deadline)
        : PairingMachine(remote.clock, deadline), remote_(std::move(remote)) {}

    /// The step for a second connection while a handshake is running.
    static PairingStep busy();
    /// The step for a connection that did not start in time.
    static PairingStep silent();
    /// Whether this text begins a handshake and was signed with that gateway's key; whether it is
    /// fresh, only on_message() knows.
    static bool is_begun_by(const crypto::Ed25519PublicKey& gateway_key, std::string_view text);

    /// The certificate to show from now on; nothing before it was installed and after a pair.error.
    const std::optional<InstalledCertificate>& installed() const { return installed_; }

private:
    enum class State : std::uint8_t { kInit, kChallenge, kCsrIssued, kComplete };

    Texts next(const MessageText& text) override;
    PairingError on_complaint(const PairError& complaint) override;
    bool is_complete() const override { return paired_; }
    std::string_view what_a_lost_connection_means() const override;
    Texts on_init(const PairInit& init);
    Texts on_challenge(const PairChallenge& challenge);
    Texts on_csr_issued(const PairCsrIssued& issued);
    Texts on_complete(const PairComplete& complete);
    PairingResult<InstalledCertificate> check_issued(const PairCsrIssued& issued) const;

    Remote remote_;
    State state_ = State::kInit;
    std::string gateway_id_;
    std::optional<crypto::PrivateKey> csr_key_;
    std::optional<InstalledCertificate> installed_;
    bool paired_ = false;
};

}  // namespace crab::trust
