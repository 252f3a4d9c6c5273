#pragma once

#include "base/clock.hpp"
#include "base/hash.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::mcp {

/// Which source handed a caller a link to which URI, so that the link can be read though no list
/// has it. Of too many the oldest are forgotten: a principal's, and those of the principal that was
/// given none for longest. Any number of threads. Source: docs/protocols/mcp.md, section 7.5.
class ResourceLinks {
public:
    struct Limits {
        std::size_t per_principal = 1024;
        std::size_t principals = 1024;
        std::size_t bytes_per_principal = std::size_t{1} << 20;
        std::size_t bytes = std::size_t{64} << 20;
    };
    static constexpr std::size_t kOfOneResult = 1024;  ///< further links of it are not taken
    static constexpr std::chrono::hours kKept{1};

    explicit ResourceLinks(const Clock& clock) : ResourceLinks(clock, Limits()) {}
    ResourceLinks(const Clock& clock, const Limits& limits) : clock_(clock), limits_(limits) {}

    void remember(const std::string& principal, const std::string& uri, const std::string& source);
    /// The source that did so last; empty: none.
    std::string source_of(const std::string& principal, std::string_view uri) const;
    /// What is held of all principals.
    std::size_t bytes() const;

private:
    struct Link {
        std::string uri, source;
        SteadyTime at;
        std::size_t bytes() const { return 256 + uri.size() + source.size(); }
    };
    using InOrder = std::list<Link>;  ///< oldest first
    struct Its {
        std::string principal;
        InOrder links{};
        std::unordered_map<std::string_view, InOrder::iterator, TextHash, std::equal_to<>> by_uri{};
        std::size_t bytes = 0;
    };
    using Principals = std::list<Its>;  ///< who was given none for longest first
    Its& of(const std::string& principal);
    void forget(Its& its, InOrder::iterator link);
    void forget_first();

    const Clock& clock_;
    const Limits limits_;
    mutable std::mutex mutex_;
    Principals principals_;
    std::unordered_map<std::string_view, Principals::iterator, TextHash, std::equal_to<>> by_name_;
    std::size_t bytes_ = 0;
};

}  // namespace crab::mcp
