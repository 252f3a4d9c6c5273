#include "trust/device_keys.hpp"

#include "base/encoding.hpp"
#include "crypto/random.hpp"
#include "crypto/signature.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::size_t kTimeChars = 16, kRandomBytes = 16, kSealChars = 48;
constexpr std::size_t kNonceChars = kTimeChars + 2 * kRandomBytes + kSealChars;
constexpr std::chrono::minutes kFailuresCounted{1};
constexpr std::size_t kMostAddresses = 4096;

std::int64_t milliseconds_of(SteadyTime time) {
    return std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count();
}

std::array<std::uint8_t, 32> random_secret() {
    const std::string bytes = from_hex(crypto::random_hex(32)).value();
    std::array<std::uint8_t, 32> secret{};
    std::copy(bytes.begin(), bytes.end(), secret.begin());
    return secret;
}

}  // namespace

DeviceKeys::DeviceKeys(Tokens& tokens, const Clock& clock)
    : tokens_(tokens), clock_(clock), secret_(random_secret()) {}

std::string DeviceKeys::seal(std::string_view time_and_random) const {
    return to_hex(crypto::hmac_sha256(secret_, bytes_of(time_and_random))).substr(0, kSealChars);
}

std::string DeviceKeys::challenge() {
    std::string nonce = fmt::format("{:016x}{}", milliseconds_of(clock_.steady_now()),
                                    crypto::random_hex(kRandomBytes));
    nonce += seal(nonce);
    return nonce;
}

std::string DeviceKeys::to_be_signed(std::string_view key_id, std::string_view nonce) {
    return fmt::format("crab-device-v1\n{}\n{}", key_id, nonce);
}

Result<KeySession> DeviceKeys::exchange(std::string_view key_id, std::string_view nonce,
                                        std::string_view signature,
                                        std::string_view remote_address) {
    const auto proven = prove(key_id, nonce, signature, remote_address);
    if (!proven) return fail(proven.error());
    if (!proven->principal->roles.has(core::Role::kDevice))
        return fail(ErrorCode::kForbidden,
                    "this key is for the console, and is exchanged for no token");
    return tokens_.open_session(key_id);
}

Result<Proven> DeviceKeys::prove(std::string_view key_id, std::string_view nonce,
                                 std::string_view signature, std::string_view remote_address) {
    const SteadyTime now = clock_.steady_now();
    const std::string address(remote_address);
    {
        const std::scoped_lock lock(mutex_);
        if (wrong_.size() >= kMostAddresses)
            std::erase_if(wrong_, [&](const auto& entry) {
                return entry.second.since + kFailuresCounted <= now;
            });
        const auto it = wrong_.find(address);
        if (it != wrong_.end() && it->second.since + kFailuresCounted <= now) {
            wrong_.erase(it);
        } else if (it != wrong_.end() && it->second.count >= kWrongPerMinute) {
            return fail(Error{
                .code = ErrorCode::kRateLimited,
                .message = "too many wrong signatures from this address: wait a minute",
                .details = {},
                .retryable = true,
                .retry_after =
                    std::chrono::ceil<Milliseconds>(it->second.since + kFailuresCounted - now)});
        }
    }
    auto proven = judge(key_id, nonce, signature);
    if (!proven) {
        const std::scoped_lock lock(mutex_);
        if (wrong_.contains(address) || wrong_.size() < kMostAddresses) {
            FailedAttempts& wrong = wrong_[address];
            if (wrong.count++ == 0) wrong.since = now;
        }
    }
    return proven;
}

Result<Proven> DeviceKeys::judge(std::string_view key_id, std::string_view nonce,
                                 std::string_view signature) {
    const SteadyTime now = clock_.steady_now();
    const auto refused = [] {
        return fail(ErrorCode::kUnauthenticated,
                    "this challenge is no longer valid: ask for a new one");
    };
    if (nonce.size() != kNonceChars ||
        !crypto::constant_time_equal(seal(nonce.substr(0, kNonceChars - kSealChars)),
                                     nonce.substr(kNonceChars - kSealChars)))
        return refused();
    std::int64_t made_at = 0;
    std::from_chars(nonce.data(), nonce.data() + kTimeChars, made_at, 16);
    if (milliseconds_of(now) - made_at >= kChallengeLifetime.count()) return refused();
    const auto der = tokens_.find_key(key_id);
    if (!der) return fail(der.error());
    const auto key = crypto::read_signing_key(*der);
    if (!key || !crypto::verify(*key, to_be_signed(key_id, nonce), signature)) {
        return fail(ErrorCode::kUnauthenticated,
                    "the signature is not one of this key: sign `crab-device-v1`, key id and "
                    "nonce, each on a line");
    }
    if (!use_up(nonce, now)) return refused();
    return tokens_.find_credential(key_id);
}

/// False when it was used before. Only rightly signed ones are remembered.
bool DeviceKeys::use_up(std::string_view nonce, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    while (!used_order_.empty() && used_order_.front().forget_at <= now) {
        used_.erase(used_order_.front().nonce);
        used_order_.pop_front();
    }
    if (!used_.emplace(nonce).second) return false;
    used_order_.push_back({std::string(nonce), now + kChallengeLifetime});
    return true;
}

}  // namespace crab::trust
