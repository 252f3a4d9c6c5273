#include "trust/challenges.hpp"

#include "crypto/digest.hpp"
#include "crypto/random.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::size_t kTimeChars = 16, kRandomBytes = 16, kSealChars = 48;
constexpr std::size_t kChars = kTimeChars + 2 * kRandomBytes + kSealChars;

/// What is sealed: for a key of a fleet, nothing else that is sealed reads like this.
std::string sealed_text(std::string_view time_and_random, std::string_view whom) {
    return fmt::format("challenge {}{}", time_and_random, whom);
}

}  // namespace

Milliseconds Challenges::now() const {
    if (time_ == Time::kOwn)
        return std::chrono::duration_cast<Milliseconds>(clock_.steady_now().time_since_epoch());
    return Milliseconds(to_unix_ms(clock_.system_now()));
}

std::string Challenges::make(std::string_view whom) {
    std::string challenge =
        fmt::format("{:016x}{}", now().count(), crypto::random_hex(kRandomBytes));
    challenge += keys_.seal(sealed_text(challenge, whom)).substr(0, kSealChars);
    return challenge;
}

bool Challenges::is_fresh(std::string_view challenge, std::string_view whom) const {
    if (challenge.size() != kChars) return false;
    const std::string_view seal = challenge.substr(kChars - kSealChars);
    bool is_ours = false;
    for (const std::string& made :
         keys_.seals(sealed_text(challenge.substr(0, kChars - kSealChars), whom)))
        is_ours |= crypto::constant_time_equal(std::string_view(made).substr(0, kSealChars), seal);
    if (!is_ours) return false;
    std::int64_t made_at = 0;
    std::from_chars(challenge.data(), challenge.data() + kTimeChars, made_at, 16);
    // the clock of another node may be ahead
    const Milliseconds age = now() - Milliseconds(made_at);
    return age < kLifetime && -age < kLifetime;
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
