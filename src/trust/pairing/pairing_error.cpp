#include "trust/pairing/pairing_error.hpp"

#include <array>

namespace crab::trust {
namespace {

using enum PairingCode;
constexpr std::array kOfBoth{
    kUnsupportedVersion,  kProtocolViolation, kSignatureInvalid, kChallengeFailed,
    kCertificateRejected, kPersistFailed,     kTimeout,          kInternal};
constexpr std::array kOfRemotes{kGatewayKeyMismatch, kStaleInit, kBusy};
constexpr std::array kOfGateways{kIdentityMismatch, kCsrRejected};

std::optional<PairingCode> find_among(auto codes, std::string_view token) {
    for (const PairingCode code : codes) {
        if (token_of(code) == token) return code;
    }
    return std::nullopt;
}

}  // namespace

std::string_view token_of(PairingCode code) {
    switch (code) {
        case kUnsupportedVersion: return "UNSUPPORTED_VERSION";
        case kProtocolViolation: return "PROTOCOL_VIOLATION";
        case kSignatureInvalid: return "SIGNATURE_INVALID";
        case kChallengeFailed: return "CHALLENGE_FAILED";
        case kCertificateRejected: return "CERTIFICATE_REJECTED";
        case kPersistFailed: return "PERSIST_FAILED";
        case kTimeout: return "TIMEOUT";
        case kInternal: return "INTERNAL";
        case kGatewayKeyMismatch: return "GATEWAY_KEY_MISMATCH";
        case kStaleInit: return "STALE_INIT";
        case kBusy: return "BUSY";
        case kIdentityMismatch: return "IDENTITY_MISMATCH";
        case kCsrRejected: return "CSR_REJECTED";
        case kUnreachable: return "UNREACHABLE";
        case kRemoteRefused: return "REMOTE_REFUSED";
        case kMtlsRequired: return "MTLS_REQUIRED";
        case kPeerExists: return "PEER_EXISTS";
        case kInvalidArgs: return "INVALID_ARGS";
    }
    return "INTERNAL";
}

std::optional<PairingCode> find_remote_code(std::string_view token) {
    const auto code = find_among(kOfBoth, token);
    return code ? code : find_among(kOfRemotes, token);
}

std::optional<PairingCode> find_gateway_code(std::string_view token) {
    const auto code = find_among(kOfBoth, token);
    return code ? code : find_among(kOfGateways, token);
}

}  // namespace crab::trust
