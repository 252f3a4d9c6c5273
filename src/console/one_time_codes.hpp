#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/digest.hpp"
#include "crypto/random_source.hpp"

#include <deque>
#include <string>
#include <string_view>

namespace crab::console {

/// The codes in the links of the console: each is good once, and not for long. In memory, as
/// digests. Not thread-safe.
class OneTimeCodes {
public:
    struct Options {
        Milliseconds lifetime = std::chrono::minutes(1);
        std::size_t max_open = 8;  ///< beyond it the oldest is no longer valid
    };
    OneTimeCodes(const Clock& clock, crypto::RandomSource& random, Options options)
        : clock_(clock), random_(random), options_(options) {}
    OneTimeCodes(const Clock& clock, crypto::RandomSource& random)
        : OneTimeCodes(clock, random, Options{}) {}

    Secret<std::string> open();
    /// True once for a code that is open. A wrong one changes nothing.
    bool redeem(std::string_view code);

private:
    struct Open {
        crypto::Sha256Digest digest;
        SteadyTime expires_at;
    };
    void drop_dead(SteadyTime now);

    const Clock& clock_;
    crypto::RandomSource& random_;
    const Options options_;
    std::deque<Open> open_;  // the oldest first
};

}  // namespace crab::console
