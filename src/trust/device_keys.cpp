#include "trust/device_keys.hpp"

#include "crypto/signature.hpp"

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::chrono::minutes kFailuresCounted{1};
constexpr std::size_t kMostAddresses = 4096;

}  // namespace

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
    if (!proven && proven.error().code == ErrorCode::kUnauthenticated) {
        const std::scoped_lock lock(mutex_);
        if (wrong_.contains(address) || wrong_.size() < kMostAddresses) {
            FailedAttempts& wrong = wrong_[address];
            if (wrong.count++ == 0) wrong.since = now;
        }
    }
    return proven;
}

/// At this node first, so that of two that come at once one is asked about.
Result<bool> DeviceKeys::use_up(std::string_view nonce) {
    if (!challenges_.use_up(nonce)) return false;
    return shared_ == nullptr ? Result<bool>(true) : shared_->use_up(nonce);
}

Result<Proven> DeviceKeys::judge(std::string_view key_id, std::string_view nonce,
                                 std::string_view signature) {
    const auto refused = [] {
        return fail(ErrorCode::kUnauthenticated,
                    "this challenge is no longer valid: ask for a new one");
    };
    if (!challenges_.is_fresh(nonce)) return refused();
    const auto der = tokens_.find_key(key_id);
    if (!der) return fail(der.error());
    const auto key = crypto::read_signing_key(*der);
    if (!key || !crypto::verify(*key, to_be_signed(key_id, nonce), signature)) {
        return fail(ErrorCode::kUnauthenticated,
                    "the signature is not one of this key: sign `crab-device-v1`, key id and "
                    "nonce, each on a line");
    }
    const auto first = use_up(nonce);
    if (!first) return fail(first.error());
    if (!*first) return refused();
    return tokens_.find_credential(key_id);
}

}  // namespace crab::trust
