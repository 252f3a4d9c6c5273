#include "adapters/mcp/auth/oauth_credentials.hpp"

#include <utility>

namespace crab::mcp {

std::optional<OAuthClient> OAuthCredentialsMemory::find_client(std::string_view issuer) const {
    const std::scoped_lock lock(mutex_);
    const auto it = clients_.find(issuer);
    return it == clients_.end() ? std::nullopt : std::optional(it->second);
}

void OAuthCredentialsMemory::save_client(std::string_view issuer, OAuthClient client) {
    const std::scoped_lock lock(mutex_);
    clients_.insert_or_assign(std::string(issuer), std::move(client));
    on_change();
}

std::optional<OAuthTokens> OAuthCredentialsMemory::find_tokens(const TokenKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto it = tokens_.find(key);
    return it == tokens_.end() ? std::nullopt : std::optional(it->second);
}

void OAuthCredentialsMemory::save_tokens(const TokenKey& key, OAuthTokens tokens) {
    const std::scoped_lock lock(mutex_);
    tokens_.insert_or_assign(key, std::move(tokens));
    on_change();
}

void OAuthCredentialsMemory::forget_tokens(const TokenKey& key) {
    const std::scoped_lock lock(mutex_);
    if (tokens_.erase(key) != 0) on_change();
}

void OAuthCredentialsMemory::forget_source(std::string_view source) {
    const std::scoped_lock lock(mutex_);
    if (std::erase_if(tokens_, [&](const auto& each) { return each.first.source == source; }) != 0)
        on_change();
}

bool OAuthCredentialsMemory::has_tokens(std::string_view source) const {
    const std::scoped_lock lock(mutex_);
    const auto first = tokens_.lower_bound({.source = std::string(source), .owner = {}});
    return first != tokens_.end() && first->first.source == source;
}

}  // namespace crab::mcp
