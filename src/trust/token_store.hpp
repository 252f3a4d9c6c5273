#pragma once

#include "base/result.hpp"
#include "trust/device_record.hpp"
#include "trust/token.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// One token was used at this time; so was the device behind it.
struct TokenUse {
    std::string token_id;
    SystemTime at;
};

/// A token of a store from before callers had stored slugs gets its own.
struct CallerName {
    std::string token_id, caller;
};

/// Store of tokens and devices. Every function may block and is atomic and durable. `Tokens` calls
/// one function at a time. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class TokenStore {
public:
    struct Contents {
        std::vector<TokenRecord> tokens;
        std::vector<DeviceRecord> devices;
    };

    virtual ~TokenStore() = default;

    virtual Result<Contents> load_all() = 0;
    /// Adds a token and, when it is the first one of a device, the device.
    virtual Result<void> insert(const TokenRecord& token,
                                const std::optional<DeviceRecord>& new_device) = 0;
    /// Sets TokenRecord::caller of these tokens.
    virtual Result<void> name_callers(std::span<const CallerName> names) = 0;
    /// Sets DeviceRecord::display_name of that device.
    virtual Result<void> rename_device(std::string_view slug, std::string_view name) = 0;
    /// Marks these tokens revoked; a token that is revoked already keeps its time.
    virtual Result<void> revoke(std::span<const std::string> token_ids, SystemTime at) = 0;
    virtual Result<void> record_uses(std::span<const TokenUse> uses) = 0;
};

}  // namespace crab::trust
