#include "adapters/mcp/server/list_watch.hpp"

#include <utility>

namespace crab::mcp {
namespace {

constexpr Milliseconds kBetweenChanges{1000};

}  // namespace

std::string_view ListWatch::filter_name(What what) {
    switch (what) {
        case What::kTools: return "toolsListChanged";
        case What::kResources: return "resourcesListChanged";
        case What::kPrompts: break;
    }
    return "promptsListChanged";
}

std::string_view ListWatch::method() const {
    switch (what_) {
        case What::kTools: return "notifications/tools/list_changed";
        case What::kResources: return "notifications/resources/list_changed";
        case What::kPrompts: break;
    }
    return "notifications/prompts/list_changed";
}

std::string ListWatch::digest() const {
    if (what_ == What::kTools)
        return lists_.tools.digest(*lists_.tools.view_of(principal_), revision_);
    const CatalogPart part =
        what_ == What::kResources ? CatalogPart::kResources : CatalogPart::kPrompts;
    return CatalogLists::digest(*lists_.catalogs.view_of(principal_), part);
}

bool ListWatch::take_change(SteadyTime now) {
    const std::uint64_t version = lists_.catalogs.version();
    if (version == seen_ || now < next_) return false;
    seen_ = version;
    std::string shown = digest();
    if (shown == digest_) return false;
    digest_ = std::move(shown);
    next_ = now + kBetweenChanges;
    return true;
}

}  // namespace crab::mcp
