#include "adapters/mcp/auth/jwt.hpp"

#include "base/base64url.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace crab::mcp {
namespace {

std::unexpected<Error> bad_token(const char* why) { return fail(ErrorCode::kInvalidArgs, why); }

/// The JSON object that a part encodes.
std::optional<json::Value> decoded_object(std::string_view part) {
    const auto text = from_base64url(part);
    if (!text) return std::nullopt;
    auto value = json::Value::parse(*text, {.max_bytes = kMostJwt, .max_depth = 16});
    if (!value || !value->is_object()) return std::nullopt;
    return std::move(*value);
}

/// A member that is a string or absent; nothing for another type.
std::optional<std::string> optional_text(const json::Value& object, std::string_view name) {
    const json::Value* const member = object.find(name);
    if (member == nullptr) return std::string();
    const std::string* const text = member->as_string();
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

}  // namespace

bool looks_like_jwt(std::string_view token) {
    return token.size() <= kMostJwt && token.starts_with("ey") &&
           std::ranges::count(token, '.') == 2;
}

Result<Jwt> parse_jwt(std::string_view token) {
    if (token.size() > kMostJwt) return bad_token("the token is too long");
    if (std::ranges::count(token, '.') != 2) return bad_token("the token has not three parts");
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    const auto header = decoded_object(token.substr(0, first));
    if (!header) return bad_token("the token's header cannot be read");
    const auto algorithm = optional_text(*header, "alg");
    const auto kid = optional_text(*header, "kid");
    const auto typ = optional_text(*header, "typ");
    if (!algorithm || !kid || !typ) return bad_token("the token's header cannot be read");
    const auto known = crypto::find_jws_algorithm(*algorithm);
    if (!known) return bad_token("the token's algorithm is not taken");
    if (header->find("crit") != nullptr || header->find("b64") != nullptr)
        return bad_token("the token's header has conditions that are not known");
    auto claims = decoded_object(token.substr(first + 1, last - first - 1));
    if (!claims) return bad_token("the token's claims cannot be read");
    auto signature = from_base64url(token.substr(last + 1));
    if (!signature || signature->empty()) return bad_token("the token's signature cannot be read");
    return Jwt{.algorithm = *known,
               .kid = *kid,
               .typ = *typ,
               .claims = std::move(*claims),
               .signed_text = std::string(token.substr(0, last)),
               .signature = std::move(*signature)};
}

std::string make_jwt(const crypto::PrivateKey& key, std::string_view kid,
                     const json::Value& claims) {
    json::Value header = json::Value::object(
        {{"alg", std::string(name_of(*crypto::jws_algorithm_of(key)))}, {"typ", "JWT"}});
    if (!kid.empty()) header.set("kid", kid);
    std::string token = to_base64url(header.dump());
    token.append(".").append(to_base64url(claims.dump()));
    const std::string signature = crypto::jws_sign(key, token);
    return token.append(".").append(to_base64url(signature));
}

}  // namespace crab::mcp
