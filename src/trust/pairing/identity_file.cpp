#include "trust/pairing/identity_file.hpp"

#include "base/encoding.hpp"
#include "crypto/key_text.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "trust/pairing/peer_name.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::string_view kGatewayId = "gateway_id";
constexpr std::string_view kSigningKey = "private_key_ed25519";
constexpr std::string_view kAgreementKey = "private_key_x25519";

std::unexpected<Error> malformed(std::string_view member, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("the identity file's {} {}", member, why));
}

Result<json::Value> parse_object(const Secret<std::string>& text) {
    auto value = json::Value::parse(text.reveal());
    // The parser's own message could show a piece of the key.
    if (!value || !value->is_object())
        return fail(ErrorCode::kInvalidArgs, "the identity file is not a JSON object");
    return std::move(*value);
}

std::string_view text_in(const json::Value& object, std::string_view member) {
    const json::Value* const value = object.find(member);
    const std::string* const text = value == nullptr ? nullptr : value->as_string();
    return text == nullptr ? std::string_view() : std::string_view(*text);
}

Result<crypto::Ed25519Key> signing_key_in(const json::Value& object) {
    const auto both = crypto::from_base64_exact<64>(text_in(object, kSigningKey));
    if (!both) return malformed(kSigningKey, "is not base64 of 64 bytes");
    crypto::Ed25519Key::Seed seed;
    std::copy_n(both->begin(), seed.size(), seed.begin());
    crypto::Ed25519Key key{Secret(seed)};
    if (!std::equal(both->begin() + seed.size(), both->end(), key.public_key().begin()))
        return malformed(kSigningKey, "holds a public key that is not its seed's");
    return key;
}

std::string text_of(const crypto::Ed25519Key& key) {
    std::array<std::uint8_t, 64> both;
    const auto middle = std::ranges::copy(key.seed().reveal(), both.begin()).out;
    std::ranges::copy(key.public_key(), middle);
    return to_base64(both);
}

}  // namespace

Result<GatewayIdentity> GatewayIdentity::parse(const Secret<std::string>& text) {
    const auto object = parse_object(text);
    if (!object) return fail(object.error());
    const std::string_view id = text_in(*object, kGatewayId);
    if (!is_gateway_id(id))
        return malformed(kGatewayId, "is not 1-48 characters of letters, digits, `.`, `_` and `-`");
    auto key = signing_key_in(*object);
    if (!key) return fail(key.error());
    return GatewayIdentity{std::string(id), std::move(*key)};
}

Secret<std::string> GatewayIdentity::to_text() const {
    std::string out;
    json::Writer(out)
        .begin_object()
        .key(kGatewayId)
        .string(gateway_id)
        .key(kSigningKey)
        .string(text_of(key))
        .end_object();
    return Secret(out + '\n');
}

Result<RemoteIdentity> RemoteIdentity::parse(const Secret<std::string>& text) {
    const auto object = parse_object(text);
    if (!object) return fail(object.error());
    auto key = signing_key_in(*object);
    if (!key) return fail(key.error());
    const auto scalar = crypto::from_base64_exact<32>(text_in(*object, kAgreementKey));
    if (!scalar) return malformed(kAgreementKey, "is not base64 of 32 bytes");
    return RemoteIdentity{std::move(*key), crypto::X25519Key(Secret(*scalar))};
}

Secret<std::string> RemoteIdentity::to_text() const {
    std::string out;
    json::Writer(out)
        .begin_object()
        .key(kSigningKey)
        .string(text_of(key))
        .key(kAgreementKey)
        .string(to_base64(agreement_key.scalar().reveal()))
        .end_object();
    return Secret(out + '\n');
}

}  // namespace crab::trust
