#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::mcp {

/// Which source handed a caller a link to which URI, so that the link can be read though no list
/// has it. Any number of threads. Source: docs/protocols/mcp.md, section 7.5.
class ResourceLinks {
public:
    static constexpr std::size_t kPerPrincipal = 1024;
    static constexpr std::size_t kPrincipals = 1024;
    static constexpr std::chrono::hours kKept{1};

    explicit ResourceLinks(const Clock& clock) : clock_(clock) {}

    void remember(const std::string& principal, const std::string& uri, const std::string& source);
    /// The source that did so last; empty: none.
    std::string source_of(const std::string& principal, std::string_view uri) const;

private:
    struct Link {
        std::string uri, source;
        SteadyTime at;
    };
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::map<std::string, std::deque<Link>> links_;  ///< oldest first
};

}  // namespace crab::mcp
