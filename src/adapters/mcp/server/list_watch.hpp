#pragma once

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "base/clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::mcp {

/// What a list of one principal looked like when its client was last told of a change: it is told
/// again when the list shows something else, at most once a second. On the loop of the lists.
/// Source: docs/protocols/mcp.md, section 4.5.
class ListWatch {
public:
    enum class What : std::uint8_t { kTools, kResources, kPrompts };
    struct Lists {
        ToolLists& tools;
        CatalogLists& catalogs;
    };

    ListWatch(const Lists& lists, What what, core::PrincipalRef principal, Revision revision)
        : lists_(lists),
          what_(what),
          principal_(std::move(principal)),
          revision_(revision),
          seen_(lists_.catalogs.version()),
          digest_(digest()) {}

    /// Whether to tell now that it has changed.
    bool take_change(SteadyTime now);
    /// When to look again by itself.
    Deadline due() const { return lists_.catalogs.version() == seen_ ? kNoDeadline : next_; }
    /// The notification's method.
    std::string_view method() const;
    /// In the filter of `subscriptions/listen`.
    static std::string_view filter_name(What what);

private:
    std::string digest() const;

    Lists lists_;
    What what_;
    core::PrincipalRef principal_;
    Revision revision_;
    std::uint64_t seen_;
    std::string digest_;
    SteadyTime next_{};
};

}  // namespace crab::mcp
