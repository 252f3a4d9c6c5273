// Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one.
// clang-format off
#pragma once

#include "base/error_code.hpp"

#include <cstdint>

namespace crab {

/// The few cases that most code tells apart when something fails. What gives each code a form of
/// its own switches over ErrorCode instead.
enum class ErrorKind : std::uint8_t {
    /// The request itself is wrong.
    kInvalid,
    /// What it names is not there for this caller.
    kNotFound,
    /// Somebody has to prove who they are first: a credential, a sign-in, a pairing.
    kUnauthenticated,
    /// A rule, a person or a missing condition stands against it.
    kRefused,
    /// Another use of the same id or key stands against it.
    kConflict,
    /// Too much at once.
    kRateLimited,
    /// Who would do it cannot be reached; nothing was started.
    kUnavailable,
    /// The time for it was used up.
    kTimeout,
    /// It was sent, and nobody knows whether it was done.
    kOutcomeUnknown,
    /// It was tried, and ended without a result.
    kFailed,
};

ErrorKind kind_of(ErrorCode code);

}  // namespace crab
