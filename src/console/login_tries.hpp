#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::console {

/// Limits how often one address may try to sign in, with success or without. Not thread-safe.
class LoginTries {
public:
    struct Options {
        std::size_t per_minute = 10;
        std::size_t max_addresses = 4096;  ///< remembered; beyond it new ones wait
    };
    LoginTries(const Clock& clock, Options options) : clock_(clock), options_(options) {}
    explicit LoginTries(const Clock& clock) : LoginTries(clock, Options{}) {}

    /// Errors: kRateLimited with retry_after; then the try does not count.
    Result<void> count(std::string_view address);

private:
    void drop_old(SteadyTime now);

    const Clock& clock_;
    const Options options_;
    std::unordered_map<std::string, std::deque<SteadyTime>> tries_;
};

}  // namespace crab::console
