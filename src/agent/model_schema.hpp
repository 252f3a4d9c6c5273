#pragma once

#include <string>
#include <string_view>

namespace crab::agent {

/// A tool's input schema in a form that all vendors accept: an object at the top, with
/// `properties`, without keywords that some refuse (combinations and references at the top;
/// `$schema`, `$id`, `$anchor`, `$comment`; `true` for a subschema; arrays without `items`;
/// anything outside draft 2020-12). The pipeline still checks what is dropped here. `schema` must
/// be a valid JSON Schema; otherwise the result accepts any object.
std::string schema_for_models(std::string_view schema);

}  // namespace crab::agent
