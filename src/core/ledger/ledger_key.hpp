#pragma once

#include <string_view>

namespace crab::core {

/// Identifies a call for repeats.
struct LedgerKey {
    std::string_view tenant, principal, key;   ///< `key`: the idempotency key, else the call id
};

}  // namespace crab::core
