#pragma once

#include "base/clock.hpp"

#include <cstddef>

namespace crab::net {

/// Limits of a request's body.
struct RequestBodyLimits {
    std::size_t max_bytes = 1024 * 1024;  ///< beyond: 413, the rest unread
    Milliseconds timeout{10'000};         ///< for the whole body; beyond: 408
};

}  // namespace crab::net
