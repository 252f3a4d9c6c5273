#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

struct StoredSecret {
    std::string sealed;
    std::string digest;  ///< of what is sealed, which nobody can guess
};

/// Where the nodes of a fleet share secrets, sealed. Errors of all: those of the store.
class SecretShelf {
public:
    virtual ~SecretShelf() = default;
    virtual Result<std::optional<StoredSecret>> find_secret(std::string_view name) = 0;
    /// What is stored as `name`: `secret`, if nothing was. Durable when it returns.
    virtual Result<StoredSecret> share_secret(std::string_view name,
                                              const StoredSecret& secret) = 0;
    /// Stores the secret sealed anew, if it still is sealed as `before`.
    virtual Result<void> replace_secret(std::string_view name, std::string_view before,
                                        std::string_view sealed) = 0;
};

}  // namespace crab::trust
