#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "trust/challenges.hpp"
#include "trust/tokens.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::trust {

/// Authentication of devices by key: a device signs a challenge and gets a bearer token that is
/// valid until the gateway restarts, so that no long-lived secret is sent. A challenge needs no
/// memory until it is answered correctly, and is valid once. Source: docs/protocols/clawseed.md,
/// section 9, "Device keys". Thread-safe; never blocks.
class DeviceKeys {
public:
    static constexpr Milliseconds kChallengeLifetime = Challenges::kLifetime;
    /// Signatures of one address that do not verify; then it waits
    static constexpr int kWrongPerMinute = 60;

    DeviceKeys(Tokens& tokens, const Clock& clock)
        : tokens_(tokens), clock_(clock), challenges_(clock) {}

    /// Something to sign, 96 hexadecimal characters, good for kChallengeLifetime.
    std::string challenge() { return challenges_.make(); }
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
    struct FailedAttempts {
        SteadyTime since{};
        int count = 0;
    };
    Result<Proven> judge(std::string_view key_id, std::string_view nonce,
                         std::string_view signature);

    Tokens& tokens_;
    const Clock& clock_;
    Challenges challenges_;
    std::mutex mutex_;
    std::unordered_map<std::string, FailedAttempts> wrong_;  ///< by address
};

}  // namespace crab::trust
