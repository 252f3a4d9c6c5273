#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "trust/challenges.hpp"
#include "trust/shared_credentials.hpp"
#include "trust/shared_keys.hpp"
#include "trust/tokens.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace crab::trust {

/// Authentication of devices by key: a device signs a challenge and gets a bearer token that is
/// valid until the gateway restarts, or at all nodes of a fleet for as long as it says, so that no
/// long-lived secret is sent. A challenge needs no memory until it is answered correctly, and is
/// valid once. Source: docs/protocols/clawseed.md, section 9, "Device keys". Thread-safe; of a
/// fleet prove() and exchange() block, else nothing does.
class DeviceKeys {
public:
    static constexpr Milliseconds kChallengeLifetime = Challenges::kLifetime;
    /// Signatures of one address that do not verify; then it waits
    static constexpr int kWrongPerMinute = 60;

    DeviceKeys(Tokens& tokens, const Clock& clock)
        : tokens_(tokens), clock_(clock), challenges_(clock) {}
    /// For all nodes of a fleet, which have these keys; `shared` outlives this.
    DeviceKeys(Tokens& tokens, const Clock& clock, SharedCredentials& shared, SharedKeys keys)
        : tokens_(tokens), clock_(clock), challenges_(clock, std::move(keys)), shared_(&shared) {}
    bool block() const { return shared_ != nullptr; }

    /// Something to sign, 96 hexadecimal characters, good for kChallengeLifetime.
    std::string challenge() { return challenges_.make(); }
    /// What has to be signed for it.
    static std::string to_be_signed(std::string_view key_id, std::string_view nonce);
    /// Whose key that is, and until when. Errors: kUnauthenticated; kRateLimited; those of a store.
    Result<Proven> prove(std::string_view key_id, std::string_view nonce,
                         std::string_view signature, std::string_view remote_address);
    /// A bearer token for the holder of that key. Errors: those of prove(); kForbidden for a key
    /// that is no device's, but for the console alone.
    Result<KeySession> exchange(std::string_view key_id, std::string_view nonce,
                                std::string_view signature, std::string_view remote_address);

private:
    Result<bool> use_up(std::string_view nonce);
    struct FailedAttempts {
        SteadyTime since{};
        int count = 0;
    };
    Result<Proven> judge(std::string_view key_id, std::string_view nonce,
                         std::string_view signature);

    Tokens& tokens_;
    const Clock& clock_;
    Challenges challenges_;
    SharedCredentials* const shared_ = nullptr;
    std::mutex mutex_;
    std::unordered_map<std::string, FailedAttempts> wrong_;  ///< by address
};

}  // namespace crab::trust
