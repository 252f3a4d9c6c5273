#include "trust/credential_cache.hpp"

namespace crab::trust {

Result<Proven> CredentialCache::find(std::string_view token) {
    // before prove(): what ends meanwhile is asked for again
    const std::uint64_t epoch = tokens_.epoch();
    if (epoch != epoch_) {
        known_.clear();
        epoch_ = epoch;
    }
    if (const auto it = known_.find(token); it != known_.end()) {
        if (!it->second.good_until || clock_.system_now() < *it->second.good_until)
            return it->second;
        known_.erase(it);
    }
    auto proven = tokens_.prove(token);
    if (!proven) return proven;
    if (known_.size() >= kMost) known_.clear();
    known_.emplace(token, *proven);
    return proven;
}

}  // namespace crab::trust
