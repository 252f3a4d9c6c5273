#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "trust/code_shelf.hpp"
#include "trust/open_codes.hpp"
#include "trust/shared_keys.hpp"
#include "trust/tokens.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crab::trust {

struct DeviceCode {
    std::string id;  ///< 16 hexadecimal characters, safe to show and to log
    Secret<std::string> code;  ///< `NNNN-NNNN-NNNN`
    SystemTime expires_at;
};

/// One-time codes that a person takes from the operator to a device, in memory, or those of all
/// nodes of a fleet. Source: docs/protocols/clawseed.md, "REST surface". Thread-safe; redeem()
/// blocks on the token store, and of a fleet all but recent() do on a shelf.
class PairingCodes {
public:
    struct Options {
        Milliseconds lifetime = std::chrono::minutes(5);
        int wrong_tries = 5;  ///< each counts against every code that is open
        int tries_per_minute = 10;  ///< of one address, right and wrong ones
        std::size_t max_open = 32;
        /// Remembered for the limit above; beyond it new ones wait
        std::size_t max_addresses = 4096;
    };

    PairingCodes(Tokens& tokens, const Clock& clock, Options options)
        : tokens_(tokens), clock_(clock), options_(options), own_(clock), shelf_(own_) {}
    PairingCodes(Tokens& tokens, const Clock& clock) : PairingCodes(tokens, clock, Options{}) {}
    /// Those of a fleet: `shelf` outlives them, and gets no digits but what `keys` make of them,
    /// for whoever reads it could try all.
    PairingCodes(Tokens& tokens, const Clock& clock, CodeShelf& shelf, SharedKeys keys)
        : tokens_(tokens),
          clock_(clock),
          options_({}),
          own_(clock),
          shelf_(shelf),
          keys_(std::move(keys)) {}
    /// Whether open(), vouch() and end() block too.
    bool block() const { return keys_.has_value(); }

    /// Opens a code. For the admin socket only. Errors: those of Tokens::check(); kRateLimited when
    /// too many are open.
    Result<DeviceCode> open(PairingOffer offer);
    /// The operator's own process says that the device with `public_key` (DER), which is about to
    /// bring `code`, is one of theirs: if that key redeems it, the device gets the role
    /// `trusted_device` too. For the admin socket only. Errors: kNotFound for a code of no device,
    /// or that is not open.
    Result<void> vouch(std::string_view code, std::string public_key);

    /// What became of the codes that were opened last, kRemembered at most, the oldest first.
    std::vector<PairingProgress> recent();
    static constexpr std::size_t kRemembered = CodeShelf::kRemembered;
    /// Reads for recent() what other nodes have changed. Errors: those of the shelf.
    Result<void> refresh();

    /// Closes the code with this id. Errors: kNotFound when it is not open any more.
    Result<void> end(std::string_view id);

    /// Turns a code into a token, once; or, with `public_key` (DER), into the right of that key.
    /// Dashes and spaces in `code` do not matter. Errors, in this order: kRateLimited with
    /// retry_after; kNotFound when no code is open; kForbidden for a wrong code; those of
    /// Tokens::issue(), and then the code stays good; those of the shelf.
    Result<IssuedToken> redeem(std::string_view code, std::string_view remote_address,
                               std::string public_key = {});

private:
    Result<void> count_try(std::string_view remote_address, SteadyTime now);
    std::vector<std::string> forms_of(std::string_view code) const;

    Tokens& tokens_;
    const Clock& clock_;
    const Options options_;
    OpenCodes own_;
    CodeShelf& shelf_;
    const std::optional<SharedKeys> keys_;  ///< nothing: the codes are this gateway's
    std::mutex mutex_;
    std::vector<PairingProgress> recent_;  ///< of a fleet, as it was read last
    /// Of the last minute, by address
    std::unordered_map<std::string, std::deque<SteadyTime>> tries_;
};

}  // namespace crab::trust
