#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// What became of a code.
struct PairingProgress {
    std::string id;
    std::string_view state;  ///< `open`, `paired`, `ended` or `expired`; lives for ever
    std::string device;      ///< once it is paired: the slug of the device or caller
};

/// A code that somebody has brought.
struct TakenCode {
    std::string id;
    PairingOffer offer;
    std::string vouched_key;  ///< of the device that vouch() spoke of; the last one
};

/// Keeps the pairing codes that are open: in memory (OpenCodes), or for all nodes of a fleet. A
/// code is known by its form, which is what PairingCodes makes of its digits. Every function is
/// atomic, and may block if the codes are a fleet's. Thread-safe. Errors besides those that are
/// named: kUnavailable and kInternal of a store.
class CodeShelf {
public:
    static constexpr std::size_t kRemembered = 64;
    /// Forms that are the same code's, by several keys.
    using Forms = std::span<const std::string>;

    struct NewCode {
        std::string id, form;
        PairingOffer offer;
        Milliseconds lifetime{0};
    };

    virtual ~CodeShelf() = default;

    /// Errors: kRateLimited with retry_after when `most` codes are open.
    virtual Result<void> open(NewCode code, std::size_t most) = 0;
    /// Errors: kNotFound when it is not open.
    virtual Result<void> end(std::string_view id) = 0;
    /// Sets TakenCode::vouched_key. Errors: kNotFound when no device's code of that form is open.
    virtual Result<void> vouch(Forms forms, std::string_view public_key) = 0;
    /// The code of one of these forms, which is not open any more. Errors: kNotFound when no code
    /// is open; kForbidden when none of those is it, and that counts against every one of them: the
    /// `wrong_tries`th ends it.
    virtual Result<TakenCode> take(Forms forms, int wrong_tries) = 0;
    /// What became of a code that was taken: the slug that was paired, or nothing, and then it is
    /// open again.
    virtual Result<void> settle(const TakenCode& code, const std::optional<std::string>& slug) = 0;
    /// What became of the latest codes, kRemembered at most, the oldest first.
    virtual Result<std::vector<PairingProgress>> recent() = 0;

protected:
    // What every shelf says.
    static std::unexpected<Error> too_many(Milliseconds wait);
    static std::unexpected<Error> no_such_pairing();
    static std::unexpected<Error> nothing_to_vouch_for();
    static std::unexpected<Error> none_open();
    static std::unexpected<Error> wrong();
};

}  // namespace crab::trust
