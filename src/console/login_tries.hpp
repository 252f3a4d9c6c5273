#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::console {

/// Limits how often one address may try to sign in, with success or without. A flood from many
/// addresses makes it forget its oldest tries, and keeps nobody out. Not thread-safe.
class LoginTries {
public:
    struct Options {
        std::size_t per_minute = 10;
        std::size_t remembered = 4096;  ///< tries, of all addresses
    };
    LoginTries(const Clock& clock, Options options) : clock_(clock), options_(options) {}
    explicit LoginTries(const Clock& clock) : LoginTries(clock, Options{}) {}

    /// Errors: kRateLimited with retry_after; then the try does not count.
    Result<void> count(std::string_view address) { return count(address, options_.per_minute); }
    /// The same with a limit of its own.
    Result<void> count(std::string_view address, std::size_t per_minute);

private:
    void forget_oldest();

    const Clock& clock_;
    const Options options_;
    std::unordered_map<std::string, std::deque<SteadyTime>> tries_;
    std::deque<std::string> order_;  ///< the address of each of them, the oldest first
};

}  // namespace crab::console
