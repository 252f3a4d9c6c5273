#pragma once

#include "trust/pairing/messages.hpp"
#include "trust/pairing/pairing_error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace crab::trust {

/// One deadline per side ends everything: from the dial at the gateway, from the upgrade at the
/// remote.
inline constexpr std::chrono::seconds kPairingTimeout{15};

/// What the owner of a pairing's one side does next: send the texts in their order, then wait for a
/// message or close.
struct PairingStep {
    std::vector<std::string> send;
    /// The WebSocket close code; absent: the handshake continues
    std::optional<std::uint16_t> close;
    std::optional<PairingError> error;  ///< why it ended without success

    bool succeeded() const { return close && !error; }
};

/// The last step of a side that found `error`: tells the other side, then closes.
PairingStep refusing_step(std::string pairing_id, PairingError error);
/// The last step of a side that was told, or noticed, that the handshake is over: sends nothing.
PairingStep ended_step(PairingError error);
/// Text from the other side made fit for one line of a log or terminal: at most 256 bytes, no
/// control characters.
std::string one_line(std::string_view text);

}  // namespace crab::trust
