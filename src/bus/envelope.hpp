#pragma once

#include "base/result.hpp"
#include "bus/place.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab::bus {

/// What a message says. The numbers are the wire's and are never used again for another kind.
enum class Kind : std::uint8_t {
    kForward = 1,
    kTaken = 2,
    kRefused = 3,
    kProgress = 4,
    kFrame = 5,
    kCredit = 6,
    kResult = 7,
    kAck = 8,
    kCancel = 9,
    kReply = 10,
    kWanted = 11,
    kMoved = 12,
    kResume = 13,
    kFind = 14,
    kFound = 15,
    kBeat = 16,
    kHint = 17,
    kLinks = 18,
};
std::string_view name_of(Kind kind);

/// The head of a message. Source: docs/protocols/fleet.md, section 4.
struct Envelope {
    Kind kind = Kind::kBeat;
    std::uint8_t flags = 0;  ///< the kind says what they mean
    std::uint8_t key = 0;    ///< which key of the sender's file has signed it
    Place from;
    Place to;  ///< node and boot 0: whoever listens
    std::uint16_t part = 0;  ///< of a body that takes several messages
    std::uint64_t sequence = 0;  ///< of the sending loop and boot, from 1
    std::uint64_t tag = 0;  ///< the slot that an answer names
    std::uint32_t ms_left = 0;  ///< until the deadline; 0: it has none

    bool is_broadcast() const { return to.node == 0; }
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeadSize = 44;
inline constexpr std::size_t kMacSize = 16;
/// With head, body and code.
inline constexpr std::size_t kMostMessage = std::size_t{512} << 10;
inline constexpr std::size_t kMostBody = kMostMessage - kHeadSize - kMacSize;

/// A message without its code. `body` is at most kMostBody bytes.
std::string to_wire(const Envelope& envelope, std::string_view body);

struct Opened {
    Envelope envelope;
    std::string_view body;  ///< of the text that was parsed
};
/// Reads a message without its code. Errors: kInvalidArgs for anything that to_wire() cannot have
/// written, an unknown version or kind included.
Result<Opened> parse_envelope(std::string_view message);

}  // namespace crab::bus
