#include "trust/webauthn.hpp"

#include "base/base64url.hpp"
#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "crypto/signature.hpp"
#include "json/parser.hpp"
#include "trust/origin_policy.hpp"

#include <algorithm>
#include <utility>

namespace crab::trust {
namespace {

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kFixedBytes = kHashBytes + 1 + 4;  ///< hash, flags, counter
constexpr std::size_t kModelBytes = 16, kLengthBytes = 2;
constexpr std::size_t kMostIdBytes = 1023;
constexpr std::size_t kMostClientData = 2048, kMostAuthenticatorData = 4096;

constexpr std::uint8_t kPresent = 0x01, kVerified = 0x04, kMayBeCopied = 0x08, kIsCopied = 0x10,
                       kHasCredential = 0x40, kHasMore = 0x80;

std::unexpected<Error> refused(std::string_view why) {
    return fail(ErrorCode::kUnauthenticated, "the passkey is not accepted: " + std::string(why));
}

std::uint32_t big_endian(std::string_view bytes) {
    std::uint32_t number = 0;
    for (const std::uint8_t byte : bytes_of(bytes)) number = number << 8 | byte;
    return number;
}

/// Host names whose last part is a number are addresses to browsers.
bool is_name(std::string_view host) {
    const std::string_view last = host.substr(host.rfind('.') + 1);
    return !host.starts_with('[') && !last.empty() &&
           last.find_first_not_of("0123456789") != std::string_view::npos &&
           !last.starts_with("0x");
}

Result<void> check_user(const AuthenticatorData& said) {
    if (!said.user_present) return refused("nobody was there");
    if (!said.user_verified)
        return refused("it was used without PIN, finger or face, which the console asks for");
    return {};
}

}  // namespace

std::optional<WebauthnSite> webauthn_site_of(std::string_view origin) {
    auto parsed = parse_origin(origin);
    if (!parsed || !is_name(parsed->host)) return std::nullopt;
    return WebauthnSite{.origin = std::string(origin), .rp_id = std::move(parsed->host)};
}

Result<AuthenticatorData> read_authenticator_data(std::string_view bytes, std::string_view rp_id) {
    if (bytes.size() < kFixedBytes || bytes.size() > kMostAuthenticatorData)
        return refused("its data has another length");
    const crypto::Sha256Digest site = crypto::sha256(rp_id);
    if (!crypto::constant_time_equal(site, bytes_of(bytes.substr(0, kHashBytes))))
        return refused("it is for another host name");
    const auto flags = static_cast<std::uint8_t>(bytes[kHashBytes]);
    if ((flags & kIsCopied) != 0 && (flags & kMayBeCopied) == 0)
        return refused("its flags contradict one another");
    AuthenticatorData data{.user_present = (flags & kPresent) != 0,
                           .user_verified = (flags & kVerified) != 0,
                           .sign_count = big_endian(bytes.substr(kHashBytes + 1, 4)),
                           .credential_id = {}};
    std::string_view rest = bytes.substr(kFixedBytes);
    if ((flags & kHasCredential) != 0) {
        if (rest.size() < kModelBytes + kLengthBytes) return refused("its data is cut short");
        const std::size_t size = big_endian(rest.substr(kModelBytes, kLengthBytes));
        rest.remove_prefix(kModelBytes + kLengthBytes);
        // the key follows, as CBOR, which the browser has read for us
        if (size == 0 || size > kMostIdBytes || rest.size() <= size)
            return refused("its data is cut short");
        data.credential_id = rest.substr(0, size);
    } else if ((flags & kHasMore) == 0 && !rest.empty()) {
        return refused("its data has another length");
    }
    return data;
}

Result<std::string> read_client_data(std::string_view json, Ceremony ceremony,
                                     const WebauthnSite& site) {
    json::Parser parser({.max_bytes = kMostClientData, .max_depth = 8});
    const auto read = parser.parse(json);
    if (!read) return refused("what the browser says of the page is no JSON");
    const json::Element said = read->element();
    if (json::has_duplicate_members(said)) return refused("what the browser says is ambiguous");
    const std::string_view type =
        ceremony == Ceremony::kRegister ? "webauthn.create" : "webauthn.get";
    if (json::get_string(said, "type") != type) return refused("it was asked for something else");
    if (json::get_string(said, "origin") != site.origin)
        return refused("it was used on a page of another origin");
    if (json::get_bool(said, "crossOrigin").value_or(false) || json::get(said, "topOrigin"))
        return refused("it was used in a frame of another page");
    auto challenge = from_base64url(json::get_string(said, "challenge").value_or(""));
    if (!challenge || challenge->empty()) return refused("there is no challenge in it");
    return std::move(*challenge);
}

Result<VerifiedAssertion> verify_assertion(const Assertion& assertion, const crypto::PublicKey& key,
                                           const WebauthnSite& site) {
    auto challenge = read_client_data(assertion.client_data, Ceremony::kAssert, site);
    if (!challenge) return fail(challenge.error());
    const auto said = read_authenticator_data(assertion.authenticator_data, site.rp_id);
    if (!said) return fail(said.error());
    if (auto user = check_user(*said); !user) return fail(user.error());
    const crypto::Sha256Digest digest = crypto::sha256(assertion.client_data);
    std::string signed_bytes = assertion.authenticator_data;
    signed_bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    if (!crypto::verify_der(key, signed_bytes, assertion.signature))
        return refused("the signature is not one of its key");
    return VerifiedAssertion{.challenge = std::move(*challenge), .sign_count = said->sign_count};
}

Result<VerifiedRegistration> verify_registration(const Registration& registration,
                                                 const WebauthnSite& site) {
    auto challenge = read_client_data(registration.client_data, Ceremony::kRegister, site);
    if (!challenge) return fail(challenge.error());
    const auto said = read_authenticator_data(registration.authenticator_data, site.rp_id);
    if (!said) return fail(said.error());
    if (auto user = check_user(*said); !user) return fail(user.error());
    if (said->credential_id.empty() || said->credential_id != registration.credential_id)
        return fail(ErrorCode::kInvalidArgs, "the id is not that of the new passkey");
    auto key = crypto::read_signing_key(registration.public_key);
    if (!key) return fail(key.error());
    return VerifiedRegistration{
        .challenge = std::move(*challenge), .sign_count = said->sign_count, .key = std::move(*key)};
}

}  // namespace crab::trust
