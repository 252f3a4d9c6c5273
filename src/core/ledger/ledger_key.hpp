#pragma once

#include <string_view>

namespace crab::core {

/// Whose call it is and by which name it would be repeated.
struct LedgerKey {
    std::string_view tenant, principal, key;   ///< `key`: the idempotency key, else the call id
};

}  // namespace crab::core
