#pragma once

#include "crypto/private_key.hpp"
#include "crypto/random_source.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::push {

/// Only the browser that subscribed reads what is sealed for it.
struct ReceiverKeys {
    std::string point;   ///< `p256dh`: a point of P-256, 65 bytes
    std::string secret;  ///< `auth`: 16 bytes
};

/// The longest text of one message: push services take 4096 bytes of what it becomes.
inline constexpr std::size_t kMostPlainBytes = 3'900;

/// `plain` as the body of a push message, in one record with the content coding `aes128gcm`;
/// nothing when the receiver's keys are invalid, or the text is too long. Source: RFC 8291; RFC
/// 8188.
std::optional<std::string> seal_push(const ReceiverKeys& receiver, std::string_view plain,
                                     crypto::RandomSource& random);

/// The same with what is drawn at random, for tests against the RFC's example.
std::optional<std::string> seal_push(const ReceiverKeys& receiver, std::string_view plain,
                                     const crypto::PrivateKey& sender,
                                     const std::array<std::uint8_t, 16>& salt);

}  // namespace crab::push
