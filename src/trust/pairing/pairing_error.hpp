#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::trust {

/// Why a pairing did not happen. Source: docs/protocols/rtp.md, sections 5.8 and 7.
enum class PairingCode : std::uint8_t {
    // said by both sides in pair.error
    kUnsupportedVersion,
    kProtocolViolation,
    kSignatureInvalid,
    kChallengeFailed,
    kCertificateRejected,
    kPersistFailed,
    kTimeout,
    kInternal,
    // said by the remote only
    kGatewayKeyMismatch,
    kStaleInit,
    /// Also the gateway's answer to an operator when the endpoint or id is being paired already
    kBusy,
    // said by the gateway only
    kIdentityMismatch,
    kCsrRejected,
    // never on the wire: in answers to the operator and in events
    kUnreachable,  ///< dial, TLS or upgrade failed, or the connection ended too soon
    kRemoteRefused,  ///< a pair.error with a code that is not a remote's; its text is passed on
    kMtlsRequired,
    kPeerExists,
    kInvalidArgs,
};

/// The code as wires, answers and events say it, such as `STALE_INIT`.
std::string_view token_of(PairingCode code);
/// The code that a remote's pair.error may carry; nothing for any other text.
std::optional<PairingCode> find_remote_code(std::string_view token);
/// The code that a gateway's pair.error may carry; nothing for any other text.
std::optional<PairingCode> find_gateway_code(std::string_view token);

struct PairingError {
    PairingCode code = PairingCode::kInternal;
    std::string message;  ///< what failed and what to do; no secret
};

template <class T>
using PairingResult = std::expected<T, PairingError>;

inline std::unexpected<PairingError> refuse(PairingCode code, std::string message) {
    return std::unexpected(PairingError{code, std::move(message)});
}

}  // namespace crab::trust
