#pragma once

#include "json/schema/dialect.hpp"

#include <optional>
#include <string_view>

namespace crab::json {

/// How subschemas stand in the value of a keyword.
enum class SubschemaForm {
    kSchema,          ///< the value is one
    kArray,           ///< the value is an array of them
    kMap,             ///< the values of the object are
    kSchemaOrArray,   ///< `items` before 2020-12
    kSchemaOrBool,  ///< before draft 6 true and false are no schemas, but these keywords take them
    kMapOfAnything,  ///< `dependencies`: schemas and arrays of names
};

/// The form of the subschemas of `keyword` in `dialect`; nothing when it has none or no meaning
/// there.
std::optional<SubschemaForm> find_subschema_form(std::string_view keyword, Dialect dialect);

}  // namespace crab::json
