#pragma once

#include <cstdint>
#include <string>

namespace crab::bench {

/// Where a server listens, written `tcp:127.0.0.1:8080` or `unix:/run/x.sock`.
struct Address {
    std::string host;  ///< an IPv4 address; empty for a Unix socket
    std::uint16_t port = 0;
    std::string path;  ///< of the Unix socket

    /// What an HTTP client writes into its Host header.
    std::string authority() const;
};

/// Throws std::invalid_argument for any other form.
Address parse_address(const std::string& text);

/// A connected, blocking stream socket (TCP_NODELAY set); the caller owns the descriptor. `source`
/// is the last byte of the loopback address to call from, 0 for the kernel's choice: one address
/// has about 28 000 ports. Throws std::system_error.
int connect_to(const Address& address, int source = 0);

/// Lifts the soft limit of open descriptors to the hard one and, where that is allowed, the hard
/// one to `wanted`. Throws std::runtime_error when fewer than `wanted` are to be had.
void allow_descriptors(std::size_t wanted);

}  // namespace crab::bench
