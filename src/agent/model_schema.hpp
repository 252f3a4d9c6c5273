#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"

namespace crab::agent {

/// A tool's input schema in the form that all vendors take: an object at the top, with `properties`, without keywords that some
/// refuse (combinations and references at the top; `$schema`, `$id`, `$anchor`, `$comment`; `true` for a subschema; arrays without `items`;
/// what is no draft 2020-12). What is dropped the pipeline checks all the same. `schema` is a valid JSON Schema; anything else gives the schema of any object.
std::string schema_for_models(std::string_view schema);

/// schema_for_models(), remembered. Used on one thread.
class ModelSchemas {
public:
    const std::string& of(std::string_view schema);

private:
    static constexpr std::size_t kMost = 2'048;
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> known_;
};

}  // namespace crab::agent
