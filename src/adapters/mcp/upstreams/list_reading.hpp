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
};
inline constexpr ListKind kToolList{"tools/list", "tools", 10'000};
inline constexpr ListKind kResourceList{"resources/list", "resources", 10'000};
inline constexpr ListKind kTemplateList{"resources/templates/list", "resourceTemplates", 10'000};
inline constexpr ListKind kPromptList{"prompts/list", "prompts", 1'000};

inline constexpr std::size_t kMostPages = 1'000;

struct ListReading {
    std::vector<std::string> entries;  ///< objects, as they came
    std::size_t beyond = 0;            ///< entries above the limit, left out
    std::optional<Milliseconds> ttl;   ///< the shortest `ttlMs` of its pages
};

/// Puts the pages together, without asking for them.
class ListPages {
public:
    explicit ListPages(const ListKind& kind) : kind_(kind) {}

    /// Takes the result of a request. Errors: kToolFailed for a page without its array, a cursor
    /// that was there before, or the 1001st page.
    Result<void> add(std::string_view page);
    /// Params of the next request; empty for the first page. An empty cursor is one.
    std::string params() const;
    bool complete() const { return pages_ > 0 && !cursor_; }
    ListReading take() { return std::move(reading_); }

private:
    const ListKind& kind_;
    ListReading reading_;
    std::optional<std::string> cursor_;
    std::set<std::string> seen_;
    std::size_t pages_ = 0;
};

/// Reads the whole list until `deadline`. An upstream that does not know the method lists nothing.
/// Errors: those of UpstreamSession::request() and ListPages::add(); kToolFailed with the
/// upstream's own error.
Task<Result<ListReading>> read_list(UpstreamSession& session, ListKind kind, Deadline deadline);

}  // namespace crab::mcp
