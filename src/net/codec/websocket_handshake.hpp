#pragma once

#include "net/codec/http_head.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The opening handshake of RFC 6455 section 4, both sides, with permessage-deflate of RFC 7692
/// section 7.1.
namespace crab::net {

/// A request that is not served, as HTTP says it; static text.
struct HttpRefusal {
    int status = 400;
    std::string_view reason;
};

/// What both sides agreed on for compression. Context takeover is off in both directions, always.
/// What is received may use any window; what is sent uses `send_window_bits`, 9..15.
struct DeflateAgreement {
    int send_window_bits = 15;
    /// Server: the client asked for a window, so the answer has to name it
    bool announce_window = false;
};

/// A valid upgrade request. All views point into the head's buffer.
struct WebSocketUpgrade {
    std::string_view key;
    /// Sec-WebSocket-Protocol in the order offered, credentials included
    std::vector<std::string_view> protocols;
    bool offers(std::string_view protocol) const;
};

/// The base64 of SHA-1 over `key` and the protocol's fixed text: what Sec-WebSocket-Accept must be.
std::string websocket_accept_key(std::string_view key);

/// 405 not GET; 426 no upgrade to websocket asked, or another version than 13 (the answer then
/// carries `Upgrade: websocket` and `Sec-WebSocket-Version: 13`); 400 one that breaks a rule.
std::expected<WebSocketUpgrade, HttpRefusal> validate_upgrade(const RequestHead& head);

/// The first offer of permessage-deflate that can be honoured in full; nothing when there is none.
/// Offers with unknown, repeated or malformed parameters are declined, and so is a server window of
/// 8 bits, which zlib cannot write.
std::optional<DeflateAgreement> negotiate_deflate(const RequestHead& head);

/// The whole 101 response. `protocol` empty: none is named; otherwise it is a token that the client
/// offered.
void append_upgrade_response(std::string& out, std::string_view key, std::string_view protocol,
                             const std::optional<DeflateAgreement>& deflate = {});

struct UpgradeRequest {
    std::string_view host;  ///< with port when it is not the default
    std::string_view target;  ///< path and query
    std::string_view key;  ///< base64 of 16 fresh random bytes
    std::span<const std::string_view> protocols;
    std::span<const HttpHeader> more;  ///< Authorization, Origin, ...
    bool offer_deflate = false;
};
/// The client's request. False, and nothing written, when a part holds what may not stand in a
/// head.
[[nodiscard]] bool append_upgrade_request(std::string& out, const UpgradeRequest& request);

struct UpgradeAccepted {
    std::string_view protocol;  ///< empty: the server chose none
    std::optional<DeflateAgreement> deflate;
};
/// Checks the answer to `request`: 101, upgrade, key, and nothing chosen that was not offered. The
/// error is a sentence.
std::expected<UpgradeAccepted, std::string_view> check_upgrade_response(
    const ResponseHead& head, const UpgradeRequest& request);

}  // namespace crab::net
