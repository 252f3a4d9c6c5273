#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"
#include "trust/tokens.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// Verifies bearer tokens that were issued by others (OAuth access tokens) for a part of the
/// listener's paths. What it needs for that may have to be fetched from the issuer, so that a
/// listener asks in two steps: find() at once, and if nothing is known yet, verify(), which is
/// awaited. One per event loop.
class AccessTokens {
public:
    virtual ~AccessTokens() = default;

    /// Whether requests to this path may come with such tokens; on other paths they are refused
    /// like any unknown token.
    virtual bool covers(std::string_view path) const = 0;
    /// Whether `token` has the form of one: what has not is not asked about. A caller can make up
    /// the form, so that it proves nothing.
    virtual bool may_be(std::string_view token) const = 0;
    /// What an earlier verify() found, while it holds; nothing: verify() knows.
    virtual std::optional<Proven> find(std::string_view token) = 0;
    /// Errors: kUnauthenticated; kForbidden for a good token with too few scopes; kUnavailable,
    /// kTimeout when the issuer could not be asked; kCancelled.
    virtual Task<Result<Proven>> verify(std::string token) = 0;
    /// The `WWW-Authenticate` of a refusal with this error; null: no credential came.
    virtual std::string challenge(const Error* why) const = 0;
};

}  // namespace crab::trust
