#pragma once

#include <cstdint>

namespace crab::core {

/// What became of a request to cancel the calls of one id.
enum class CancelAnswer : std::uint8_t {
    kCancelling,
    kFinished,
    kNotFound,
    kAmbiguous,  ///< an operator named no tenant, and several callers run a call of this id
};

}  // namespace crab::core
