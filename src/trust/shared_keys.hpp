#pragma once

#include "base/secret.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::trust {

/// Keys that all nodes of a fleet have, or that one process has made for itself: the first makes
/// seals, those of all are accepted. Immutable.
class SharedKeys {
public:
    using Key = Secret<std::array<std::uint8_t, 32>>;

    /// At least one.
    explicit SharedKeys(std::vector<Key> keys) : keys_(std::move(keys)) {}
    /// One that nobody else has.
    static SharedKeys make();

    /// 64 hexadecimal characters, which only a holder of the key can make of `text`.
    std::string seal(std::string_view text) const;
    /// By each key, in their order.
    std::vector<std::string> seals(std::string_view text) const;

private:
    std::vector<Key> keys_;
};

}  // namespace crab::trust
