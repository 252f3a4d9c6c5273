#include "push/vapid.hpp"

#include "base/base64url.hpp"
#include "crypto/jws.hpp"
#include "crypto/p256.hpp"
#include "json/writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::push {
namespace {

constexpr std::string_view kFile = "push_key.pem";
constexpr std::chrono::hours kGoodFor{12};

}  // namespace

Result<Vapid> Vapid::open(const crypto::KeyFolder& folder, std::string contact) {
    const auto stored = folder.read(kFile, crypto::KeyFolder::Access::kPrivate);
    if (!stored) return fail(stored.error());
    if (*stored) {
        auto key = crypto::PrivateKey::from_pem(Secret(std::move(**stored)));
        if (!key) return fail(std::move(key.error()));
        if (key->public_key().kind != crypto::KeyKind::kP256)
            return fail(ErrorCode::kInvalidArgs, "push_key.pem holds no P-256 key");
        return Vapid(std::move(*key), std::move(contact));
    }
    crypto::PrivateKey key = crypto::PrivateKey::generate_p256();
    const Secret<std::string> pem = key.to_pem();
    if (auto kept = folder.write(kFile, pem.reveal(), crypto::KeyFolder::Access::kPrivate); !kept)
        return fail(std::move(kept.error()));
    return Vapid(std::move(key), std::move(contact));
}

std::string Vapid::public_key() const { return to_base64url(crypto::p256_point_of(key_)); }

std::string Vapid::authorization(std::string_view origin, SystemTime now) const {
    std::string claims;
    json::Writer writer(claims);
    writer.begin_object().key("aud").string(origin);
    writer.key("exp").integer(to_unix_ms(now + kGoodFor) / 1000);
    writer.key("sub").string(contact_).end_object();
    const std::string signed_text =
        to_base64url(R"({"typ":"JWT","alg":"ES256"})") + '.' + to_base64url(claims);
    const std::string signature = to_base64url(crypto::jws_sign(key_, signed_text));
    return fmt::format("vapid t={}.{}, k={}", signed_text, signature, public_key());
}

}  // namespace crab::push
