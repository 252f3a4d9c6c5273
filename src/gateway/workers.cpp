#include "gateway/workers.hpp"

#include <algorithm>

namespace crab::gateway {
namespace {

constexpr std::size_t kPoolThreads = 4;

/// As many names as may hang at once: one for each server that the configuration names, and some of
/// peers.
std::size_t names_of(const config::GatewayConfig& config) {
    const std::size_t named = config.providers.size() + config.models.size() + config.hosts.size() +
                              (config.hitl ? 1 : 0) + (config.worktree_service ? 1 : 0);
    return std::clamp<std::size_t>(named + 2, 4, 16);
}

}  // namespace

Result<void> Workers::start() {
    pool_ = std::make_unique<BlockingPool>(kPoolThreads);
    names_ = std::make_unique<net::NameLookups>(names_of(context_.config));
    return {};
}

void Workers::stop(Deadline) {
    names_->settle();
    pool_->settle();
}

}  // namespace crab::gateway
