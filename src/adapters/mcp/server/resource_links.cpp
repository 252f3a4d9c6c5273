#include "adapters/mcp/server/resource_links.hpp"

#include <algorithm>
#include <ranges>

namespace crab::mcp {

void ResourceLinks::remember(const std::string& principal, const std::string& uri,
                             const std::string& source) {
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(mutex_);
    if (!links_.contains(principal) && links_.size() >= kPrincipals)
        std::erase_if(links_,
                      [&](const auto& each) { return now - each.second.back().at >= kKept; });
    if (!links_.contains(principal) && links_.size() >= kPrincipals) return;
    std::deque<Link>& its = links_[principal];
    std::erase_if(its, [&](const Link& link) { return link.uri == uri; });
    its.push_back({uri, source, now});
    if (its.size() > kPerPrincipal) its.pop_front();
}

std::string ResourceLinks::source_of(const std::string& principal, std::string_view uri) const {
    const std::scoped_lock lock(mutex_);
    const auto its = links_.find(principal);
    if (its == links_.end()) return {};
    const auto link = std::ranges::find(its->second, uri, &Link::uri);
    if (link == its->second.end() || clock_.steady_now() - link->at >= kKept) return {};
    return link->source;
}

}  // namespace crab::mcp
