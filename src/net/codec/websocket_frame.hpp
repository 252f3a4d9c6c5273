#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Writing WebSocket frames (RFC 6455 section 5): everything is appended to the connection's
/// outgoing buffer.
namespace crab::net {

enum class Opcode : std::uint8_t {
    kContinuation = 0,
    kText = 1,
    kBinary = 2,
    kClose = 8,
    kPing = 9,
    kPong = 10
};

/// Close codes by name; others travel as plain numbers (RFC 6455 section 7.4).
namespace close_code {
inline constexpr std::uint16_t kNormal = 1000, kGoingAway = 1001, kProtocolError = 1002,
                               kNoStatus = 1005, kNotUtf8 = 1007, kPolicy = 1008, kTooBig = 1009,
                               kInternal = 1011, kRestarting = 1012, kOverload = 1013;
}

/// Whether a peer may send this code in a close frame: 1000-1003, 1007-1014, 3000-4999.
constexpr bool is_sendable_close_code(std::uint16_t code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

/// The four mask bytes in the order of the wire, as one number. Present on frames of a client,
/// which takes a new unpredictable one per frame; absent on frames of a server.
using Mask = std::optional<std::uint32_t>;

/// XORs `bytes` with `mask`, whose first wire byte falls on `bytes[0]`. Returns the mask turned for
/// the byte after the last.
std::uint32_t apply_mask(std::span<char> bytes, std::uint32_t mask);

enum class Compressed : std::uint8_t { kNo, kYes };  ///< sets RSV1 (RFC 7692)

/// Appends one final frame. The caller keeps control payloads within 125 bytes.
void append_frame(std::string& out, Opcode opcode, std::string_view payload, Mask mask = {},
                  Compressed compressed = Compressed::kNo);

/// Appends a close frame; `reason` is cut to 123 bytes without splitting a character. Code 1005
/// sends an empty payload.
void append_close(std::string& out, std::uint16_t code, std::string_view reason, Mask mask = {});

/// A frame whose payload is written straight into `out` before its length is known:
///
///     const OpenFrame frame = begin_frame(out, Opcode::kText);
///     write_request(out, call);
///     finish_frame(out, frame);
///
/// Four header bytes are set aside, right for 126 to 65,535 bytes; a shorter payload is moved by
/// two bytes, a longer by six.
struct OpenFrame {
    std::size_t start;
    Opcode opcode;
    Mask mask;
};
OpenFrame begin_frame(std::string& out, Opcode opcode, Mask mask = {});
void finish_frame(std::string& out, const OpenFrame& frame);

}  // namespace crab::net
