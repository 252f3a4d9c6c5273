#include "adapters/mcp/auth/jwk_set.hpp"

#include "base/base64url.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

std::string_view text_of(const json::Value& object, std::string_view name) {
    const json::Value* const member = object.find(name);
    const std::string* const text = member != nullptr ? member->as_string() : nullptr;
    return text != nullptr ? std::string_view(*text) : std::string_view();
}

/// The bytes of a member in base64url; empty when it is something else.
std::string member_bytes(const json::Value& object, std::string_view name) {
    return from_base64url(text_of(object, name)).value_or("");
}

bool is_for_signatures(const json::Value& key) {
    if (key.find("use") != nullptr) return text_of(key, "use") == "sig";
    const json::Value* const operations = key.find("key_ops");
    if (operations == nullptr) return true;
    const auto* const list = operations->as_array();
    return list != nullptr && std::ranges::find(*list, json::Value("verify")) != list->end();
}

Result<crypto::JwsKey> read_key(const json::Value& key) {
    const std::string_view type = text_of(key, "kty");
    if (type == "RSA") return crypto::JwsKey::rsa(member_bytes(key, "n"), member_bytes(key, "e"));
    if (type == "EC")
        return crypto::JwsKey::ec(text_of(key, "crv"), member_bytes(key, "x"),
                                  member_bytes(key, "y"));
    if (type == "OKP" && text_of(key, "crv") == "Ed25519")
        return crypto::JwsKey::ed25519(member_bytes(key, "x"));
    return fail(ErrorCode::kInvalidArgs, "this kind of key is not used");
}

}  // namespace

Result<Jwk> read_jwk(const json::Value& key) {
    if (!key.is_object() || !is_for_signatures(key))
        return fail(ErrorCode::kInvalidArgs, "this is no key for signatures");
    auto read = read_key(key);
    if (!read) return fail(std::move(read.error()));
    Jwk jwk{.kid = std::string(text_of(key, "kid")), .algorithm = {}, .key = std::move(*read)};
    if (key.find("alg") == nullptr) return jwk;
    jwk.algorithm = crypto::find_jws_algorithm(text_of(key, "alg"));
    if (!jwk.algorithm || !jwk.key.fits(*jwk.algorithm))
        return fail(ErrorCode::kInvalidArgs, "the key is for an algorithm that is not used");
    return jwk;
}

Result<JwkSet> JwkSet::parse(std::string_view text) {
    const auto set = json::Value::parse(text);
    if (!set) return fail(ErrorCode::kInvalidArgs, "the key set is no JSON object");
    const json::Value* const keys = set->find("keys");
    const auto* const list = keys != nullptr ? keys->as_array() : nullptr;
    if (list == nullptr) return fail(ErrorCode::kInvalidArgs, "the key set has no `keys`");
    if (list->size() > kMost) return fail(ErrorCode::kOversize, "the key set has too many keys");
    JwkSet read;
    for (const json::Value& each : *list) {
        if (auto key = read_jwk(each)) read.keys_.push_back(std::move(*key));
    }
    return read;
}

bool JwkSet::has(std::string_view kid) const {
    return std::ranges::any_of(keys_, [&](const Jwk& key) { return key.kid == kid; });
}

const Jwk* JwkSet::find(std::string_view kid, crypto::JwsAlgorithm algorithm) const {
    const Jwk* found = nullptr;
    for (const Jwk& key : keys_) {
        if (!kid.empty() && key.kid != kid) continue;
        if (!key.key.fits(algorithm) || key.algorithm.value_or(algorithm) != algorithm) continue;
        if (found != nullptr) return nullptr;
        found = &key;
    }
    return found;
}

}  // namespace crab::mcp
