#pragma once

#include "config/config_origin.hpp"
#include "json/value.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace crab::config {

/// One key of the configuration and what it has.
struct EffectiveValue {
    std::string key;  ///< as messages write it: `listen.public`, `policy[2].principal`
    /// As the file has it, references unresolved, else the default; null where there is neither,
    /// and of a secret
    json::Value value;
    json::Value standard;  ///< the default; null: there is none
    std::size_t content = 0;  ///< equal for equal values, those of secrets too
    int line = 0;  ///< in the file, from 1; 0: the file does not have it
    bool secret = false;  ///< its value may be one, and is not told
};

/// All keys of `schema` (spec/config.schema.json) that the file has or that have a default, in the
/// order of the schema, those of a list or a mapping one by one. Told is what is written in the
/// file: `${NAME}` and `${file:path}` stay as they are. What the schema calls `writeOnly` is a
/// secret; of an address with a user's name and password they are left out.
std::vector<EffectiveValue> effective_values(const json::Value& schema, const ConfigOrigin& origin);

}  // namespace crab::config
