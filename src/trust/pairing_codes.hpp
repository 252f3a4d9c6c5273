#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "trust/tokens.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::trust {

/// What the device that brings the code will get.
struct PairingOffer {
    std::string name;                          ///< of the device or caller; empty: `Device`
    /// No more than a device needs; whoever opens the code widens it
    core::Roles roles{core::Role::kDevice};
    std::vector<TenantId> tenants{};           ///< as in IssueRequest
    std::optional<Milliseconds> lifetime;      ///< of the token; absent: until revoked
    std::string device;  ///< a known device that is paired again; empty: a new one
};

struct DeviceCode {
    std::string id;  ///< 16 hexadecimal characters, safe to show and to log
    Secret<std::string> code;  ///< `NNNN-NNNN-NNNN`
    SystemTime expires_at;
};

/// What became of a code.
struct PairingProgress {
    std::string id;
    std::string_view state;  ///< `open`, `paired`, `ended` or `expired`
    std::string device;      ///< once it is paired: the slug of the device or caller
};

/// One-time codes that a person takes from the operator to a device. In memory: a restart revokes
/// them. Source: docs/protocols/clawseed.md, "REST surface". Thread-safe; redeem() blocks on the
/// token store.
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
        : tokens_(tokens), clock_(clock), options_(options) {}
    PairingCodes(Tokens& tokens, const Clock& clock) : PairingCodes(tokens, clock, Options{}) {}

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
    static constexpr std::size_t kRemembered = 64;

    /// Closes the code with this id. Errors: kNotFound when it is not open any more.
    Result<void> end(std::string_view id);

    /// Turns a code into a token, once; or, with `public_key` (DER), into the right of that key.
    /// Dashes and spaces in `code` do not matter. Errors, in this order: kRateLimited with
    /// retry_after; kNotFound when no code is open; kForbidden for a wrong code; those of
    /// Tokens::issue(), and then the code stays good.
    Result<IssuedToken> redeem(std::string_view code, std::string_view remote_address,
                               std::string public_key = {});

private:
    struct Open {
        std::string id, digits;
        PairingOffer offer;
        SteadyTime expires_at;
        int wrong_tries = 0;
        std::string vouched_key;  ///< of the device that vouch() spoke of; the last one
    };

    void note(std::string_view id, std::string_view state, std::string_view device = {});
    Result<void> count_try(std::string_view remote_address, SteadyTime now);
    void drop_dead_codes(SteadyTime now);
    std::vector<Open>::iterator find(std::string_view code);
    Result<Open> take(std::string_view code, std::string_view remote_address);

    Tokens& tokens_;
    const Clock& clock_;
    const Options options_;
    std::mutex mutex_;
    std::vector<Open> open_;
    std::deque<PairingProgress> recent_;
    /// Of the last minute, by address
    std::unordered_map<std::string, std::deque<SteadyTime>> tries_;
};

}  // namespace crab::trust
