#pragma once

#include "crypto/alt_names.hpp"
#include "trust/pairing/pairing_error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::trust {

/// Where a remote listens for its pairing, in the one form in which such places are stored and
/// compared. Source: docs/protocols/rtp.md, section 5.1.
struct PairingEndpoint {
    bool tls = false;            ///< `wss`
    bool loopback = false;       ///< `localhost`, 127.0.0.0/8 or ::1
    bool is_address = false;     ///< `host` is an IP address, else a DNS name
    std::string host;  ///< lower case; an IPv6 address in its shortest form, without brackets
    std::uint16_t port = 0;
    std::string path;  ///< as given; empty when there was none
    std::string query;  ///< as given, with its `?`; empty when there was none

    /// `ws://` or `wss://`, no user info, no fragment; port 80 and 443 if not given.
    /// Errors: kInvalidArgs, naming the rule.
    static PairingResult<PairingEndpoint> parse(std::string_view text);

    /// Scheme, host and explicit port, then path and query as given.
    std::string text() const;
    /// `host:port`, an IPv6 address in brackets: where `https://` requests to this peer go.
    std::string authority() const;
    /// What is asked for when dialling: path and query, `/v1/pair` when there was no path. In that
    /// case `/` is next after a 404.
    std::string target() const;
    bool has_second_target() const { return path.empty(); }
    /// The DNS name or IP address as a certificate names it.
    crypto::AltNames names() const;
};

/// Plain `ws` goes to loopback only, and only if that is allowed. Errors: kMtlsRequired.
PairingResult<void> check_transport(const PairingEndpoint& endpoint, bool allow_insecure_loopback);

}  // namespace crab::trust
