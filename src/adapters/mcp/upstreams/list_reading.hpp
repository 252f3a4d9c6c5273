#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// All pages of an upstream's lists. Source: docs/protocols/mcp.md, sections 3.5 and 4.5.
namespace crab::mcp {

/// One of the four lists.
struct ListKind {
    std::string_view method;
    std::string_view member;  ///< of the result, the array
    std::size_t most;         ///< entries; more are left out
    std::size_t largest;      ///< entry, in bytes; larger ones are left out
};
// two schemas of a tool, and icons, are the large parts
inline constexpr std::size_t kLargestTool = (std::size_t{2} << 20) + (128 << 10);
inline constexpr std::size_t kLargestEntry = 128 << 10;
inline constexpr ListKind kToolList{"tools/list", "tools", 10'000, kLargestTool};
inline constexpr ListKind kResourceList{"resources/list", "resources", 10'000, kLargestEntry};
inline constexpr ListKind kTemplateList{"resources/templates/list", "resourceTemplates", 10'000,
                                        kLargestEntry};
inline constexpr ListKind kPromptList{"prompts/list", "prompts", 1'000, kLargestEntry};

inline constexpr std::size_t kMostPages = 1'000;
inline constexpr std::size_t kMostCursor = 8 << 10;

/// What all lists of an upstream may take together, for all of them are kept.
struct ListBudget {
    std::size_t left = std::size_t{64} << 20;  ///< bytes
};

struct ListReading {
    std::vector<std::string> entries;  ///< objects, as they came
    std::size_t beyond = 0;            ///< entries above the limits, left out
    std::optional<Milliseconds> ttl;   ///< the shortest `ttlMs` of its pages
};

/// Puts the pages together, without asking for them.
class ListPages {
public:
    /// `budget` outlives it.
    ListPages(const ListKind& kind, ListBudget& budget) : kind_(kind), budget_(budget) {}

    /// Takes the result of a request. Errors: kToolFailed for a page without its array, a cursor
    /// that is too long or was there before, or the 1001st page.
    Result<void> add(std::string_view page);
    /// Params of the next request; empty for the first page. An empty cursor is one.
    std::string params() const;
    bool complete() const { return pages_ > 0 && !cursor_; }
    ListReading take() { return std::move(reading_); }

private:
    bool takes(std::string_view entry);

    const ListKind& kind_;
    ListBudget& budget_;
    ListReading reading_;
    std::optional<std::string> cursor_;
    std::set<std::string> seen_;
    std::size_t pages_ = 0;
};

/// Reads the whole list until `deadline`. An upstream that does not know the method lists nothing.
/// Errors: those of UpstreamSession::request() and ListPages::add(); kToolFailed with the
/// upstream's own error.
Task<Result<ListReading>> read_list(UpstreamSession& session, ListKind kind, Deadline deadline,
                                    ListBudget& budget);

}  // namespace crab::mcp
