#include "trust/pairing/remote_pairing.hpp"

#include "crypto/certificate_request.hpp"
#include "trust/pairing/challenge_cipher.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr auto kFreshness = std::chrono::minutes(5);

std::unexpected<PairingError> bad_gateway_signature(std::string_view type) {
    return refuse(PairingCode::kSignatureInvalid,
                  fmt::format("the signature of {} does not fit the gateway's key", type));
}
std::unexpected<PairingError> rejected(std::string_view why) {
    return refuse(PairingCode::kCertificateRejected, fmt::format("the issued certificate {}", why));
}
std::unexpected<PairingError> remote_not_stored(const Error& error) {
    return refuse(PairingCode::kPersistFailed,
                  fmt::format("the remote cannot store the pairing: {}", error.message));
}

/// The chain's last certificate that is an authority and its own issuer; that is whom this remote
/// will trust.
const crypto::Certificate* authority_in(const std::vector<crypto::Certificate>& chain) {
    const auto found = std::ranges::find_if(chain.rbegin(), chain.rend(), [](const auto& one) {
        return one.is_ca() && one.is_self_issued();
    });
    return found == chain.rend() ? nullptr : &*found;
}

}  // namespace

PairingError RemotePairing::on_complaint(const PairError& complaint) {
    PairingError error = told(find_gateway_code(complaint.code), complaint, "the gateway");
    if (installed_) {
        if (auto back = remote_.store.go_back(pairing_id_); !back) {
            error.message += fmt::format(" (and the installed certificate cannot be put aside: {})",
                                         back.error().message);
        } else {
            installed_.reset();
        }
    }
    return error;
}

std::string_view RemotePairing::what_a_lost_connection_means() const {
    return installed_ ? "the connection ended before pair.complete; the gateway's next request "
                        "completes the pairing if it was stored there"
                      : "the connection ended before the handshake did";
}

PairingStep RemotePairing::busy() {
    return refusing_step(
        {}, {PairingCode::kBusy, "another handshake is running; try again in some seconds"});
}

PairingStep RemotePairing::silent() {
    return refusing_step(
        {}, {PairingCode::kTimeout, "no pair.init came; a handshake begins with it at once"});
}

bool RemotePairing::is_begun_by(const crypto::Ed25519PublicKey& gateway_key,
                                std::string_view text) {
    const auto parsed = MessageText::parse(text);
    const auto init = parsed ? parsed->as<PairInit>(std::nullopt) : std::unexpected(parsed.error());
    return init && init->public_key_ed25519 == gateway_key && is_signed_by(gateway_key, *init);
}

RemotePairing::Texts RemotePairing::next(const MessageText& text) {
    const auto handle = [&]<class Message>(Texts (RemotePairing::*handler)(const Message&),
                                           std::optional<std::string_view> pairing_id) -> Texts {
        const auto message = text.as<Message>(pairing_id);
        if (!message) return std::unexpected(message.error());
        return (this->*handler)(*message);
    };
    switch (state_) {
        case State::kInit: return handle(&RemotePairing::on_init, std::nullopt);
        case State::kChallenge: return handle(&RemotePairing::on_challenge, pairing_id_);
        case State::kCsrIssued: return handle(&RemotePairing::on_csr_issued, pairing_id_);
        case State::kComplete: return handle(&RemotePairing::on_complete, pairing_id_);
    }
    return refuse(PairingCode::kInternal, "no message is expected");
}

RemotePairing::Texts RemotePairing::on_init(const PairInit& init) {
    pairing_id_ = init.pairing_id;
    if (init.public_key_ed25519 != remote_.gateway_key)
        return refuse(PairingCode::kGatewayKeyMismatch,
                      "this remote is configured for another gateway's key");
    if (!is_signed_by(remote_.gateway_key, init)) return bad_gateway_signature(PairInit::kType);
    const SystemTime now = remote_.clock.system_now();
    const SystemTime issued_at = init.issued_at.system_time();
    if (issued_at < now - kFreshness || issued_at > now + kFreshness) {
        return refuse(
            PairingCode::kStaleInit,
            "issued_at is more than 5 minutes from this remote's clock; check both clocks");
    }
    const auto fresh = remote_.store.add_nonce(init.nonce, now);
    if (!fresh) return remote_not_stored(fresh.error());
    if (!*fresh) return refuse(PairingCode::kStaleInit, "this pair.init came before");
    gateway_id_ = init.gateway_id;
    state_ = State::kChallenge;
    return std::vector{to_wire(
        signed_by(remote_.key, PairIdentity{.pairing_id = pairing_id_,
                                            .component_type = remote_.name.type,
                                            .component_id = remote_.name.id,
                                            .public_key_ed25519 = remote_.key.public_key(),
                                            .public_key_x25519 = remote_.agreement_key.public_key(),
                                            .mtls_cert_fingerprint = remote_.shown_fingerprint}))};
}

RemotePairing::Texts RemotePairing::on_challenge(const PairChallenge& challenge) {
    auto plaintext = open_challenge(remote_.agreement_key, pairing_id_, challenge.challenge_id,
                                    {challenge.ciphertext, challenge.aad});
    if (!plaintext) return std::unexpected(plaintext.error());
    csr_key_ = crypto::PrivateKey::generate_p256();
    crypto::AltNames names = remote_.endpoint_names;
    names.uris = {remote_.name.uri()};
    state_ = State::kCsrIssued;
    return std::vector{
        to_wire(signed_by(remote_.key,
                          PairChallengeResponse{.pairing_id = pairing_id_,
                                                .challenge_id = challenge.challenge_id,
                                                .challenge_plaintext = std::move(*plaintext)})),
        to_wire(signed_by(remote_.key, PairCsrRequest{.pairing_id = pairing_id_,
                                                      .csr_pem = crypto::make_certificate_request(
                                                          *csr_key_, remote_.name.id, names)}))};
}

RemotePairing::Texts RemotePairing::on_csr_issued(const PairCsrIssued& issued) {
    if (!is_signed_by(remote_.gateway_key, issued))
        return bad_gateway_signature(PairCsrIssued::kType);
    auto certificate = check_issued(issued);
    if (!certificate) return std::unexpected(certificate.error());
    if (auto stored = remote_.store.install(*certificate); !stored)
        return remote_not_stored(stored.error());
    installed_ = std::move(*certificate);
    state_ = State::kComplete;
    return std::vector{to_wire(signed_by(
        remote_.key, PairCsrInstalled{.pairing_id = pairing_id_,
                                      .mtls_cert_fingerprint = issued.mtls_cert_fingerprint}))};
}

PairingResult<InstalledCertificate> RemotePairing::check_issued(const PairCsrIssued& issued) const {
    const auto leaf = crypto::Certificate::from_pem(issued.certificate_pem);
    if (!leaf) return rejected(fmt::format("cannot be read: {}", leaf.error().message));
    if (!crypto::same_fingerprint(leaf->fingerprint(), issued.mtls_cert_fingerprint))
        return rejected("has another fingerprint than stated");
    if (leaf->serial_number() != issued.serial_number)
        return rejected("has another serial number than stated");
    // Certificates know whole seconds only; a sender may state the fraction that it dropped.
    if (leaf->not_before() != issued.not_before.whole ||
        leaf->not_after() != issued.not_after.whole)
        return rejected("has other dates than stated");
    const SystemTime now = remote_.clock.system_now();
    if (!leaf->is_valid_at(now, kFreshness)) return rejected("is not valid now; check both clocks");
    if (leaf->public_key() != csr_key_->public_key()) return rejected("is for another key");
    if (leaf->alt_names().uris != std::vector{remote_.name.uri()})
        return rejected("does not name this remote");

    std::vector<crypto::Certificate> chain;
    for (const std::string& pem : issued.certificate_chain_pem) {
        auto one = crypto::Certificate::from_pem(pem);
        if (!one)
            return rejected(
                fmt::format("comes with a chain that cannot be read: {}", one.error().message));
        chain.push_back(std::move(*one));
    }
    const crypto::Certificate* const authority = authority_in(chain);
    if (authority == nullptr) return rejected("comes without its authority's certificate");
    if (!authority->is_valid_at(now, kFreshness))
        return rejected("comes from an authority that is not valid now");
    // Both were judged with slack for clocks that differ; the chain is then checked at the moment
    // nearest to now that suits both.
    const SystemTime from = std::max(leaf->not_before(), authority->not_before());
    // OpenSSL excludes the end
    const SystemTime until =
        std::min(leaf->not_after(), authority->not_after()) - std::chrono::seconds(1);
    const SystemTime at = std::max(from, std::min(now, until));
    if (auto chained = crypto::check_chain(*leaf, chain, *authority, at); !chained)
        return rejected(fmt::format("was refused: {}", chained.error().message));
    return InstalledCertificate{pairing_id_, gateway_id_, csr_key_->to_pem(),
                                issued.certificate_pem, authority->to_pem()};
}

RemotePairing::Texts RemotePairing::on_complete(const PairComplete& complete) {
    if (complete.status != "ok")
        return refuse(PairingCode::kProtocolViolation, "pair.complete: its status is not ok");
    if (auto stored = remote_.store.complete(pairing_id_); !stored)
        return remote_not_stored(stored.error());
    paired_ = true;
    return std::vector<std::string>();
}

}  // namespace crab::trust
