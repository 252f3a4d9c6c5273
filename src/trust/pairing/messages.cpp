#include "trust/pairing/messages.hpp"

#include "base/encoding.hpp"
#include "trust/pairing/canonical_writer.hpp"

namespace crab::trust {
namespace {

template <class Message>
CanonicalWriter begun(const Message& message) {
    CanonicalWriter out;
    out.text("type", Message::kType)
        .text("version", kPairingVersion)
        .text("pairing_id", message.pairing_id);
    return out;
}

/// The wire form of a signed message is what was signed, with the signature as its last member.
template <class Message>
std::string with_signature(const Message& message) {
    std::string out = signed_bytes(message);
    out.pop_back();
    return out + ",\"sig_ed25519\":\"" + to_base64(message.signature) + "\"}";
}

}  // namespace

std::string signed_bytes(const PairInit& message) {
    CanonicalWriter out = begun(message);
    out.begin("gateway")
        .text("gateway_id", message.gateway_id)
        .text("public_key_ed25519", to_base64(message.public_key_ed25519))
        .text("nonce", to_base64(bytes_of(message.nonce)))
        .text("issued_at", message.issued_at.text())
        .end();
    return std::move(out).take();
}

std::string signed_bytes(const PairIdentity& message) {
    CanonicalWriter out = begun(message);
    out.begin("remote")
        .text("component_type", to_text(message.component_type))
        .text("component_id", message.component_id)
        .text("public_key_ed25519", to_base64(message.public_key_ed25519))
        .text("public_key_x25519", to_base64(message.public_key_x25519))
        .text("mtls_cert_fingerprint", message.mtls_cert_fingerprint)
        .end();
    return std::move(out).take();
}

std::string signed_bytes(const PairChallengeResponse& message) {
    CanonicalWriter out = begun(message);
    out.text("challenge_id", message.challenge_id)
        .text("challenge_plaintext", message.challenge_plaintext);
    return std::move(out).take();
}

std::string signed_bytes(const PairCsrRequest& message) {
    CanonicalWriter out = begun(message);
    out.text("csr_pem", message.csr_pem);
    return std::move(out).take();
}

std::string signed_bytes(const PairCsrIssued& message) {
    CanonicalWriter out = begun(message);
    out.text("certificate_pem", message.certificate_pem);
    if (!message.certificate_chain_pem.empty())
        out.texts("certificate_chain_pem", message.certificate_chain_pem);
    out.text("serial_number", message.serial_number)
        .text("mtls_cert_fingerprint", message.mtls_cert_fingerprint)
        .text("not_before", message.not_before.in_utc().text())
        .text("not_after", message.not_after.in_utc().text());
    return std::move(out).take();
}

std::string signed_bytes(const PairCsrInstalled& message) {
    CanonicalWriter out = begun(message);
    out.text("mtls_cert_fingerprint", message.mtls_cert_fingerprint);
    return std::move(out).take();
}

std::string to_wire(const PairInit& message) { return with_signature(message); }
std::string to_wire(const PairIdentity& message) { return with_signature(message); }
std::string to_wire(const PairChallengeResponse& message) { return with_signature(message); }
std::string to_wire(const PairCsrRequest& message) { return with_signature(message); }
std::string to_wire(const PairCsrIssued& message) { return with_signature(message); }
std::string to_wire(const PairCsrInstalled& message) { return with_signature(message); }

std::string to_wire(const PairChallenge& message) {
    CanonicalWriter out = begun(message);
    out.text("challenge_id", message.challenge_id)
        .text("ciphertext", to_base64(bytes_of(message.ciphertext)))
        .text("aad", to_base64(bytes_of(message.aad)));
    return std::move(out).take();
}

std::string to_wire(const PairComplete& message) {
    CanonicalWriter out = begun(message);
    out.text("status", message.status);
    return std::move(out).take();
}

std::string to_wire(const PairError& message) {
    CanonicalWriter out = begun(message);
    out.text("code", message.code).text("message", message.message);
    return std::move(out).take();
}

}  // namespace crab::trust
