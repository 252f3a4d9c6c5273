#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/digest.hpp"
#include "trust/tokens.hpp"

#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace crab::trust {

/// Authentication of devices by key: a device signs a challenge and gets a bearer token that is
/// valid until the gateway restarts, so that no long-lived secret is sent. A challenge needs no
/// memory until it is answered correctly, and is valid once. Source: docs/protocols/clawseed.md,
/// section 9, "Device keys". Thread-safe; never blocks.
class DeviceKeys {
public:
    static constexpr Milliseconds kChallengeLifetime{60'000};
    /// Signatures of one address that do not verify; then it waits
    static constexpr int kWrongPerMinute = 60;

    DeviceKeys(Tokens& tokens, const Clock& clock);

    /// Something to sign, 96 hexadecimal characters, good for kChallengeLifetime.
    std::string challenge();
    /// What has to be signed for it.
    static std::string to_be_signed(std::string_view key_id, std::string_view nonce);
    /// Whose key that is, and until when. Errors: kUnauthenticated; kRateLimited.
    Result<Proven> prove(std::string_view key_id, std::string_view nonce,
                         std::string_view signature, std::string_view remote_address);
    /// A bearer token for the holder of that key. Errors: those of prove(); kForbidden for a key
    /// that is no device's, but for the console alone.
    Result<KeySession> exchange(std::string_view key_id, std::string_view nonce,
                                std::string_view signature, std::string_view remote_address);

private:
    struct Used {
        std::string nonce;
        SteadyTime forget_at;
    };
    struct FailedAttempts {
        SteadyTime since{};
        int count = 0;
    };
    std::string seal(std::string_view time_and_random) const;
    Result<Proven> judge(std::string_view key_id, std::string_view nonce,
                         std::string_view signature);
    bool use_up(std::string_view nonce, SteadyTime now);

    Tokens& tokens_;
    const Clock& clock_;
    const std::array<std::uint8_t, 32> secret_;  ///< of this process
    std::mutex mutex_;
    std::unordered_set<std::string> used_;
    std::deque<Used> used_order_;
    std::unordered_map<std::string, FailedAttempts> wrong_;  ///< by address
};

}  // namespace crab::trust
