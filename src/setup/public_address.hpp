#pragma once

#include "config/gateway_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::setup {

/// The address of a gateway's public listener for clients, used in lines that people paste.
struct PublicAddress {
    std::string authority;   ///< `host:port`
    std::string prefix;      ///< of every path
    bool tls = false;
    bool loopback = false;   ///< only this machine reaches it
    /// An authority of this gateway's own, which clients have to be told; empty: none is needed
    std::string ca_file;

    /// `wss://host:port/prefix`: the first scheme without TLS, the second with it.
    std::string url(std::string_view plain, std::string_view secure) const;
};

/// The listener of this configuration, with the port that was bound; nothing when it is off.
std::optional<PublicAddress> public_address(const config::ListenOptions& listen,
                                            std::uint16_t port);

/// `https://host:port` of the peer listener; empty when it is off, or on a port that the system
/// chooses.
std::string peer_url(const config::ListenOptions& listen);

}  // namespace crab::setup
