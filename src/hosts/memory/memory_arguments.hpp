#pragma once

#include "hosts/memory/memory_store.hpp"
#include "json/element.hpp"

#include <string>

namespace crab::memory {

// The arguments of the three tools as values. They fit the schemas of memory_tools.hpp already;
// what schemas cannot say is checked here. Errors: kInvalidArgs with the JSON pointer, also in the
// details.

/// The entries' ids are the caller's to set.
Result<MemoryAppend> read_append(json::Element args);

struct QueryArguments {
    MemoryQuery query;     ///< all but `after`
    std::string cursor;    ///< empty: the first page
};
Result<QueryArguments> read_query(json::Element args);

Result<MemoryDelete> read_delete(json::Element args);

}  // namespace crab::memory
