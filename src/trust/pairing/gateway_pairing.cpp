#include "trust/pairing/gateway_pairing.hpp"

#include "base/encoding.hpp"
#include "crypto/certificate_request.hpp"
#include "crypto/digest.hpp"
#include "trust/pairing/challenge_cipher.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::trust {
namespace {

using Kind = PairingRequest::Kind;

std::unexpected<PairingError> bad_remote_signature(std::string_view type) {
    return refuse(PairingCode::kSignatureInvalid,
                  fmt::format("the signature of {} does not fit its sender's key", type));
}
std::unexpected<PairingError> other_identity(std::string message) {
    return refuse(PairingCode::kIdentityMismatch, std::move(message));
}
std::unexpected<PairingError> gateway_not_stored(const Error& error) {
    return refuse(PairingCode::kPersistFailed,
                  fmt::format("the gateway cannot store the pairing: {}", error.message));
}

}  // namespace

GatewayPairing::GatewayPairing(Gateway gateway, PairingPlan plan, Deadline deadline)
    : PairingMachine(gateway.clock, deadline, to_hex(gateway.random.bytes<16>())),
      gateway_(std::move(gateway)),
      plan_(std::move(plan)) {}

PairingStep GatewayPairing::start(const std::optional<crypto::Certificate>& leaf) {
    // A connection that proves nothing is told nothing, not even why.
    if (auto proven = check_connection(leaf); !proven) return end(ended_step(proven.error()));
    PairInit init{.pairing_id = pairing_id_,
                  .gateway_id = gateway_.id,
                  .public_key_ed25519 = gateway_.key.public_key()};
    const auto nonce = gateway_.random.bytes<24>();
    init.nonce.assign(nonce.begin(), nonce.end());
    init.issued_at = SignedTime::from(gateway_.clock.system_now());
    state_ = State::kIdentity;
    return {.send = {to_wire(signed_by(gateway_.key, std::move(init)))}, .close = {}, .error = {}};
}

PairingResult<void> GatewayPairing::check_connection(
    const std::optional<crypto::Certificate>& leaf) {
    if (!plan_.endpoint.tls) return {};
    if (!leaf) return refuse(PairingCode::kMtlsRequired, "the remote showed no certificate");
    leaf_fingerprint_ = leaf->fingerprint();
    const SystemTime now = gateway_.clock.system_now();
    if (plan_.tls_trust() == TlsTrust::kPin &&
        !crypto::same_fingerprint(leaf_fingerprint_, plan_.previous->mtls_cert_fingerprint)) {
        auto renewed = complete_renewal(gateway_.store, *plan_.previous, leaf_fingerprint_, now);
        if (!renewed) return gateway_not_stored(renewed.error());
        if (!*renewed)
            return other_identity(
                "the remote's certificate is not the recorded one; if it was replaced on purpose, "
                "pair with --replace");
        plan_.previous = std::move(*renewed);
    }
    if (!leaf->is_valid_at(now))
        return other_identity(
            "the remote's certificate is not valid now; pair with --replace once it shows a valid "
            "one");
    return {};
}

PairingStep GatewayPairing::on_message(std::string_view text) {
    if (!ended() && state_ == State::kBefore)
        return end(ended_step({PairingCode::kInternal, "start() comes first"}));
    return PairingMachine::on_message(text);
}

PairingError GatewayPairing::on_complaint(const PairError& complaint) {
    return told(find_remote_code(complaint.code), complaint, "the remote");
}

std::string_view GatewayPairing::what_a_lost_connection_means() const {
    return "the connection ended before the handshake did";
}

GatewayPairing::Texts GatewayPairing::next(const MessageText& text) {
    const auto handle =
        [&]<class Message>(Texts (GatewayPairing::*handler)(const Message&)) -> Texts {
        const auto message = text.as<Message>(pairing_id_);
        if (!message) return std::unexpected(message.error());
        return (this->*handler)(*message);
    };
    switch (state_) {
        case State::kIdentity: return handle(&GatewayPairing::on_identity);
        case State::kChallengeResponse: return handle(&GatewayPairing::on_challenge_response);
        case State::kCsrRequest: return handle(&GatewayPairing::on_csr_request);
        case State::kCsrInstalled: return handle(&GatewayPairing::on_csr_installed);
        case State::kBefore: break;
    }
    return refuse(PairingCode::kInternal, "no message is expected");
}

GatewayPairing::Texts GatewayPairing::on_identity(const PairIdentity& identity) {
    const PairingRequest& wanted = plan_.request;
    if (!is_signed_by(identity.public_key_ed25519, identity))
        return bad_remote_signature(PairIdentity::kType);
    if (identity.component_type != wanted.name.type || identity.component_id != wanted.name.id) {
        return other_identity(fmt::format("the remote is {}/{}, not {}",
                                          to_text(identity.component_type),
                                          one_line(identity.component_id), wanted.name.text()));
    }
    if (wanted.remote_key && identity.public_key_ed25519 != *wanted.remote_key)
        return other_identity("the remote's key is not the one given with --remote-key");
    if (plan_.is_known && identity.public_key_ed25519 != plan_.previous->public_key_ed25519) {
        return other_identity(
            "the remote's Ed25519 key is not the recorded one; if it was replaced on purpose, pair "
            "with --replace");
    }
    if (wanted.kind == Kind::kRenew &&
        identity.public_key_x25519 != plan_.previous->public_key_x25519) {
        return other_identity(
            "the remote's X25519 key is not the recorded one; pair with --replace");
    }
    if (plan_.endpoint.tls &&
        !crypto::same_fingerprint(identity.mtls_cert_fingerprint, leaf_fingerprint_)) {
        return other_identity(
            "the remote signs another certificate than this connection shows: somebody may stand "
            "between");
    }
    challenge_id_ = to_hex(gateway_.random.bytes<16>());
    plaintext_ = to_base64(gateway_.random.bytes<32>());
    const auto ephemeral = crypto::X25519Key::generate(gateway_.random);
    const auto nonce = gateway_.random.bytes<12>();
    auto sealed = seal_challenge(identity.public_key_x25519, pairing_id_, challenge_id_, plaintext_,
                                 ephemeral, nonce);
    if (!sealed) return std::unexpected(sealed.error());
    identity_ = identity;
    state_ = State::kChallengeResponse;
    return std::vector{to_wire(PairChallenge{
        pairing_id_, challenge_id_, std::move(sealed->ciphertext), std::move(sealed->aad)})};
}

GatewayPairing::Texts GatewayPairing::on_challenge_response(const PairChallengeResponse& response) {
    if (response.challenge_id != challenge_id_)
        return refuse(PairingCode::kChallengeFailed, "the answer names another challenge");
    if (!is_signed_by(identity_->public_key_ed25519, response))
        return bad_remote_signature(PairChallengeResponse::kType);
    if (!crypto::constant_time_equal(response.challenge_plaintext, plaintext_))
        return refuse(PairingCode::kChallengeFailed, "the answer is not the plaintext");
    state_ = State::kCsrRequest;
    return std::vector<std::string>();
}

GatewayPairing::Texts GatewayPairing::on_csr_request(const PairCsrRequest& request) {
    if (!is_signed_by(identity_->public_key_ed25519, request))
        return bad_remote_signature(PairCsrRequest::kType);
    const auto csr = crypto::CertificateRequest::parse(request.csr_pem);
    if (!csr) return refuse(PairingCode::kCsrRejected, csr.error().message);
    const auto used = gateway_.store.has_key(csr->public_key.digest());
    if (!used) return gateway_not_stored(used.error());
    if (*used)
        return refuse(PairingCode::kCsrRejected,
                      "the certificate request's key was used before; make a new one each time");

    const PeerName& name = plan_.request.name;
    const SystemTime now = gateway_.clock.system_now();
    crypto::LeafSubject subject{name.id, plan_.endpoint.names()};
    subject.names.uris.push_back(name.uri());
    const auto leaf = gateway_.authority.issue(subject, csr->public_key, now);
    if (!leaf) return refuse(PairingCode::kInternal, leaf.error().message);

    const bool keeps = plan_.is_known;  // a renewal, or the same peer once more
    issued_ = PeerRecord{.name = name,
                         .endpoint = plan_.endpoint.text(),
                         .public_key_ed25519 = identity_->public_key_ed25519,
                         .public_key_x25519 = identity_->public_key_x25519,
                         .mtls_cert_fingerprint = leaf->fingerprint(),
                         .serial_number = leaf->serial_number(),
                         .not_after = leaf->not_after(),
                         .pairing_id = pairing_id_,
                         .paired_at = keeps ? plan_.previous->paired_at : now,
                         .last_seen_at = now,
                         .status = PeerStatus::kPending,
                         .tool_url = keeps ? plan_.previous->tool_url : std::string()};
    const PeerCertificate certificate{
        .serial_number = leaf->serial_number(),
        .fingerprint = leaf->fingerprint(),
        .name = name,
        .pairing_id = pairing_id_,
        .key_digest = csr->public_key.digest(),
        .certificate_pem = leaf->to_pem(),
        .not_before = leaf->not_before(),
        .not_after = leaf->not_after(),
        .issued_at = now,
        .renews = keeps ? plan_.previous->mtls_cert_fingerprint : std::string()};
    if (auto stored = gateway_.store.add_certificate(certificate, *issued_); !stored)
        return gateway_not_stored(stored.error());
    state_ = State::kCsrInstalled;
    return std::vector{to_wire(signed_by(
        gateway_.key,
        PairCsrIssued{.pairing_id = pairing_id_,
                      .certificate_pem = certificate.certificate_pem,
                      .certificate_chain_pem = {gateway_.authority.certificate().to_pem()},
                      .serial_number = certificate.serial_number,
                      .mtls_cert_fingerprint = certificate.fingerprint,
                      .not_before = SignedTime::from(certificate.not_before),
                      .not_after = SignedTime::from(certificate.not_after)}))};
}

GatewayPairing::Texts GatewayPairing::on_csr_installed(const PairCsrInstalled& installed) {
    if (!is_signed_by(identity_->public_key_ed25519, installed))
        return bad_remote_signature(PairCsrInstalled::kType);
    if (!crypto::same_fingerprint(installed.mtls_cert_fingerprint,
                                  issued_->mtls_cert_fingerprint)) {
        return refuse(PairingCode::kCertificateRejected,
                      "the remote installed another certificate than the one just issued");
    }
    using Old = PairingCommit::OldCertificate;
    issued_->status = plan_.request.is_test ? PeerStatus::kInactive : PeerStatus::kActive;
    const PairingCommit commit{
        .record = *issued_,
        .previous = plan_.previous,
        .old_certificate = plan_.request.kind == Kind::kReplace ? Old::kRevoke : Old::kRetire,
        .at = gateway_.clock.system_now()};
    if (auto stored = gateway_.store.commit(commit); !stored)
        return gateway_not_stored(stored.error());
    peer_ = *issued_;
    return std::vector{to_wire(PairComplete{.pairing_id = pairing_id_})};
}

Result<std::optional<PeerRecord>> complete_renewal(PairingStore& store, const PeerRecord& peer,
                                                   std::string_view fingerprint, SystemTime now) {
    constexpr auto kLongest = std::chrono::hours(24);
    const auto found = store.find_certificate(fingerprint);
    if (!found) return fail(found.error());
    const auto& shown = *found;
    const bool unfinished =
        shown && shown->state == CertificateState::kIssued && shown->name == peer.name &&
        !shown->renews.empty() && shown->renews == peer.mtls_cert_fingerprint &&
        peer.status == PeerStatus::kActive && now - shown->issued_at <= kLongest;
    if (!unfinished) return std::optional<PeerRecord>();
    PeerRecord renewed = peer;
    renewed.mtls_cert_fingerprint = shown->fingerprint;
    renewed.serial_number = shown->serial_number;
    renewed.not_after = shown->not_after;
    renewed.pairing_id = shown->pairing_id;
    const auto stored = store.commit({.record = renewed, .previous = peer, .at = now});
    if (!stored) return fail(stored.error());
    return renewed;
}

}  // namespace crab::trust
