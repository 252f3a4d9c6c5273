#pragma once

#include "hosts/memory/memory_store.hpp"
#include "json/element.hpp"

#include <string>

namespace crab::memory {

// Converts the arguments of the three tools, which already match the schemas of memory_tools.hpp;
// checks what schemas cannot express. Errors: kInvalidArgs with the JSON pointer, also in the
// details.

/// The caller sets the entries' ids.
Result<MemoryAppend> read_append(json::Element args);

struct QueryArguments {
    MemoryQuery query;     ///< all but `after`
    std::string cursor;    ///< empty: the first page
};
Result<QueryArguments> read_query(json::Element args);

Result<MemoryDelete> read_delete(json::Element args);

}  // namespace crab::memory
