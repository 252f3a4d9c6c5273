#pragma once

#include <string>
#include <string_view>

namespace crab::agent {

/// A tool's input schema in the form that all vendors take: an object at the top, with
/// `properties`, without keywords that some refuse (combinations and references at the top;
/// `$schema`, `$id`, `$anchor`, `$comment`; `true` for a subschema; arrays without `items`; what is
/// no draft 2020-12). What is dropped the pipeline checks all the same. `schema` is a valid JSON
/// Schema; anything else gives the schema of any object.
std::string schema_for_models(std::string_view schema);

}  // namespace crab::agent
