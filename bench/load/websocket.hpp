#pragma once

#include "load/stream.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::bench {

/// One frame from a server: unmasked, whole (RFC 6455, section 5.2). The payload is a view into the
/// bytes it was read from.
struct ServerFrame {
    std::uint8_t opcode = 0;
    std::string_view payload;
    std::size_t size = 0;  ///< header and payload
};

inline constexpr std::uint8_t kText = 1, kClose = 8, kPing = 9, kPong = 10;

/// Nothing while `bytes` hold no complete frame. Throws std::runtime_error for a masked or
/// fragmented one.
std::optional<ServerFrame> find_frame(std::string_view bytes);

/// Appends a masked client frame whose payload is all `parts`, one after the other.
void append_frame(std::string& out, std::uint8_t opcode, std::span<const std::string_view> parts);

/// Dials in as a device: upgrade, session_start, connect and, unless `tool` is empty, its
/// registration, until the gateway has confirmed the last of these. Returns bytes that were read
/// beyond that. Throws std::runtime_error, naming the answer.
std::string open_device(Stream& stream, const Address& gateway, const std::string& token,
                        const std::string& tool);

}  // namespace crab::bench
