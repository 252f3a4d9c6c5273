#pragma once

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::trust {

/// Cache of valid bearer tokens for one event loop and all its fronts. Entries end with the expiry
/// of the credential or session, and with every revocation. Not thread-safe.
class CredentialCache {
public:
    static constexpr std::size_t kMost = 1024;

    CredentialCache(Tokens& tokens, const Clock& clock) : tokens_(tokens), clock_(clock) {}
    /// Authenticates `token`. Errors: those of Tokens::prove().
    Result<Proven> find(std::string_view token);
    /// As Tokens::is_cut_off().
    bool is_cut_off() const { return tokens_.is_cut_off(); }
    std::size_t size() const { return known_.size(); }

private:
    Tokens& tokens_;
    const Clock& clock_;
    std::unordered_map<std::string, Proven, TextHash, std::equal_to<>> known_;  ///< of this epoch
    std::uint64_t epoch_ = 0;
};

}  // namespace crab::trust
