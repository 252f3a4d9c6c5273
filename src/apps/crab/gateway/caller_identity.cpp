#include "apps/crab/gateway/caller_identity.hpp"

namespace crab::app {

Result<core::PrincipalRef> CallerIdentity::find(std::string_view authorization, const net::PeerAddress& peer) {
    const std::uint64_t epoch = tokens_.epoch();
    if (epoch != known_epoch_) {
        known_.clear();
        known_epoch_ = epoch;
    }
    if (const auto it = known_.find(authorization); it != known_.end()) {
        if (!it->second.expires_at || std::chrono::system_clock::now() < *it->second.expires_at) return it->second.principal;
        known_.erase(it);
    }
    const std::string_view token = trust::bearer_of(authorization);
    auto principal = authentication_.authenticate(token, {.loopback = peer.is_loopback(), .text = peer.ip()});
    constexpr std::size_t kMostKnown = 1024;
    if (principal && !token.empty()) {
        if (known_.size() >= kMostKnown) known_.clear();
        known_.emplace(authorization, Known{.principal = *principal, .expires_at = tokens_.expires_at(**principal)});
    }
    return principal;
}

}  // namespace crab::app
