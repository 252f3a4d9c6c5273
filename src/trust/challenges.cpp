#include "trust/challenges.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "crypto/random.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::size_t kTimeChars = 16, kRandomBytes = 16, kSealChars = 48;
constexpr std::size_t kChars = kTimeChars + 2 * kRandomBytes + kSealChars;

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

Challenges::Challenges(const Clock& clock) : clock_(clock), secret_(random_secret()) {}

std::string Challenges::seal(std::string_view time_and_random, std::string_view whom) const {
    const std::string sealed = std::string(time_and_random) + std::string(whom);
    return to_hex(crypto::hmac_sha256(secret_, bytes_of(sealed))).substr(0, kSealChars);
}

std::string Challenges::make(std::string_view whom) {
    std::string challenge = fmt::format("{:016x}{}", milliseconds_of(clock_.steady_now()),
                                        crypto::random_hex(kRandomBytes));
    challenge += seal(challenge, whom);
    return challenge;
}

bool Challenges::is_fresh(std::string_view challenge, std::string_view whom) const {
    if (challenge.size() != kChars ||
        !crypto::constant_time_equal(seal(challenge.substr(0, kChars - kSealChars), whom),
                                     challenge.substr(kChars - kSealChars)))
        return false;
    std::int64_t made_at = 0;
    std::from_chars(challenge.data(), challenge.data() + kTimeChars, made_at, 16);
    return milliseconds_of(clock_.steady_now()) - made_at < kLifetime.count();
}

bool Challenges::use_up(std::string_view challenge) {
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(mutex_);
    while (!used_order_.empty() && used_order_.front().forget_at <= now) {
        used_.erase(used_order_.front().challenge);
        used_order_.pop_front();
    }
    if (!used_.emplace(challenge).second) return false;
    used_order_.push_back({std::string(challenge), now + kLifetime});
    return true;
}

}  // namespace crab::trust
