#include "adapters/mcp/auth/token_claims.hpp"

#include "crypto/digest.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostSubject = 255;  // RFC 7519 leaves it open; OpenID Connect says this

std::unexpected<Error> bad_claim(const char* why) { return fail(ErrorCode::kUnauthenticated, why); }

/// A point in time; nothing when the claim is no number, `fallback` when it is absent. Fractions
/// are allowed (RFC 7519, section 2) and too large ones are never.
std::optional<SystemTime> time_of(const json::Value& claims, std::string_view name,
                                  std::optional<SystemTime> fallback) {
    constexpr double kMostSeconds = 9e9;  // beyond the year 2200, which fits the clock's type
    const json::Value* const claim = claims.find(name);
    if (claim == nullptr) return fallback;
    const auto seconds = claim->as_double();
    if (!seconds || !(*seconds >= 0) || *seconds > kMostSeconds) return std::nullopt;
    return SystemTime(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
}

/// The texts of a claim that is a string of words or an array of strings.
std::vector<std::string> words_of(const json::Value* claim) {
    std::vector<std::string> words;
    if (claim == nullptr) return words;
    if (const std::string* all = claim->as_string()) {
        for (std::string_view rest = *all; !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            if (end != 0) words.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    } else if (const auto* list = claim->as_array()) {
        for (const json::Value& each : *list) {
            if (const std::string* text = each.as_string()) words.push_back(*text);
        }
    }
    return words;
}

bool is_audience(const json::Value* claim, std::string_view resource) {
    if (claim == nullptr) return false;
    if (const std::string* one = claim->as_string()) return *one == resource;
    const auto* const list = claim->as_array();
    return list != nullptr && std::ranges::any_of(*list, [&](const json::Value& each) {
               return each.as_string() != nullptr && *each.as_string() == resource;
           });
}

/// The roles that a person or program can have by a token; devices and tool hosts are paired.
core::Roles roles_of(const std::vector<std::string>& names) {
    using enum core::Role;
    core::Roles roles;
    for (const std::string& name : names) {
        const auto role = core::find_role(name);
        if (role &&
            (*role == kCaller || *role == kSubscriber || *role == kOperator || *role == kCliAdmin))
            roles.add(*role);
    }
    return roles;
}

/// The tenants of a claim, each a word of the usual letters.
std::vector<TenantId> tenants_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMostTenants = 64;
    constexpr std::size_t kMostName = 128;
    std::vector<TenantId> tenants;
    for (const std::string& name : names) {
        const bool good = !name.empty() && name.size() <= kMostName &&
                          std::ranges::all_of(name, [](char c) { return c > ' ' && c != 0x7f; });
        if (good && tenants.size() < kMostTenants) tenants.emplace_back(name);
    }
    return tenants;
}

/// `ends`: when it expires if nothing is said; nothing: it has to say.
Result<TokenClaims> check_rest(const json::Value& claims, const ClaimRules& rules, SystemTime now,
                               std::optional<SystemTime> ends = std::nullopt) {
    if (!is_audience(claims.find("aud"), rules.resource))
        return bad_claim("the token is for another audience");
    const auto expires = time_of(claims, "exp", ends);
    if (!expires || now >= *expires + kClockSkew) return bad_claim("the token has expired");
    const auto begins = time_of(claims, "nbf", now);
    if (!begins || now + kClockSkew < *begins) return bad_claim("the token is not valid yet");
    const std::string* const subject = claims.find_string("sub");
    if (subject == nullptr || subject->empty() || subject->size() > kMostSubject)
        return bad_claim("the token names no subject");
    TokenClaims read{.subject = *subject,
                     .scopes = words_of(claims.find(claims.find("scope") ? "scope" : "scp")),
                     .tenants = {TenantId(std::string(core::kDefaultTenant))},
                     .roles = {core::Role::kCaller},
                     .expires_at = *expires};
    if (!rules.tenant_claim.empty())
        read.tenants = tenants_of(words_of(claims.find(rules.tenant_claim)));
    if (!rules.roles_claim.empty()) read.roles = roles_of(words_of(claims.find(rules.roles_claim)));
    // fail closed: without them the principal could do less or more than the operator meant
    if (read.tenants.empty()) return bad_claim("the token names no tenant");
    if (read.roles.empty()) return bad_claim("the token names no role");
    return read;
}

}  // namespace

bool TokenClaims::has_scopes(const std::vector<std::string>& needed) const {
    return std::ranges::all_of(needed, [&](const std::string& scope) {
        return std::ranges::find(scopes, scope) != scopes.end();
    });
}

Result<TokenClaims> check_claims(const json::Value& claims, const ClaimRules& rules,
                                 SystemTime now) {
    const std::string* const issuer = claims.find_string("iss");
    if (issuer == nullptr || *issuer != rules.issuer)
        return bad_claim("the token is of another issuer");
    return check_rest(claims, rules, now);
}

Result<TokenClaims> check_introspection(const json::Value& answer, const ClaimRules& rules,
                                        SystemTime now) {
    const json::Value* const active = answer.find("active");
    if (active == nullptr || active->as_bool() == nullptr || !*active->as_bool())
        return bad_claim("the issuer says that the token is not active");
    const std::string* const issuer = answer.find_string("iss");
    if (answer.find("iss") != nullptr && (issuer == nullptr || *issuer != rules.issuer))
        return bad_claim("the token is of another issuer");
    return check_rest(answer, rules, now, now);  // it is active now, and will be asked about again
}

core::PrincipalRef principal_of(const TokenClaims& claims, const ClaimRules& rules) {
    // kept as they are for readable policies: no separator, blank, wildcard or control character
    constexpr std::string_view kPlain = "@|:+=,";
    std::string subject;
    for (const char c : claims.subject) {
        if (kPlain.contains(c)) {
            subject += c;
        } else {
            subject += net::percent_encode(std::string_view(&c, 1));
        }
    }
    auto principal = std::make_shared<core::Principal>();
    principal->id = fmt::format("oauth/{}/{}", rules.issuer_name, subject);
    principal->tenant = claims.tenants.front();
    principal->more_tenants.assign(claims.tenants.begin() + 1, claims.tenants.end());
    principal->roles = claims.roles;
    principal->proof = core::Proof::kBearerToken;
    principal->credential_id = "oauth-" + crypto::sha256_hex(principal->id).substr(0, 8);
    return principal;
}

}  // namespace crab::mcp
