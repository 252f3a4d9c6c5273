#pragma once

#include "base/secret.hpp"
#include "trust/shared_keys.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::trust {

/// `secret` as only who has the first of `keys` can read it, for one that is stored as `name`.
std::string seal_secret(std::span<const SharedKeys::Key> keys, std::string_view name,
                        const Secret<std::string>& secret);

struct OpenedSecret {
    Secret<std::string> secret;
    bool by_first = false;  ///< else the file of keys has a newer one
};
/// Nothing when none of `keys` has sealed it under that name.
std::optional<OpenedSecret> open_secret(std::span<const SharedKeys::Key> keys,
                                        std::string_view name, std::string_view sealed);

}  // namespace crab::trust
