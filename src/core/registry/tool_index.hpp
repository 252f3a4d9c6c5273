#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// A set of searchable tools, by the names to call them by.
struct ToolCatalog {
    struct Entry {
        std::string name, description;
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;
};

/// Full-text search over tools. Functions may block (call them on BlockingPool) and are
/// thread-safe.
class ToolIndex {
public:
    virtual ~ToolIndex() = default;
    /// Names of the tools of `catalog` that match `words`, best first, at most `most`; any text is
    /// a valid query. Equal catalogs share an index while in use. Errors: kInternal.
    virtual Result<std::vector<std::string>> find(const std::shared_ptr<const ToolCatalog>& catalog,
                                                  std::string_view words, std::size_t most) = 0;
};

}  // namespace crab::core
