#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// The tools that somebody may search, by the names under which they would be called.
struct ToolCatalog {
    struct Entry {
        std::string name, description;
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;
};

/// Finds tools by words. Functions may block (call them on BlockingPool) and are thread-safe.
class ToolIndex {
public:
    virtual ~ToolIndex() = default;
    /// Names of the tools of `catalog` that go best with `words`, the best first, at most `most`;
    /// any text is a query, and one without a word finds nothing. Equal catalogs are indexed once
    /// while they are in use. Errors: kInternal.
    virtual Result<std::vector<std::string>> find(const std::shared_ptr<const ToolCatalog>& catalog,
                                                  std::string_view words, std::size_t most) = 0;
};

}  // namespace crab::core
