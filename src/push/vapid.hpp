#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/key_folder.hpp"
#include "crypto/private_key.hpp"

#include <string>
#include <string_view>

namespace crab::push {

/// Who sends, to push services: a key of this gateway, to which each subscription is bound. Source:
/// RFC 8292.
class Vapid {
public:
    /// The key in the file `push_key.pem`, which is made when there is none. `contact`: `mailto:`
    /// or `https:`, where the operators of a push service can complain. Blocks. Errors: those of
    /// the folder; kInvalidArgs for a file that holds no P-256 key.
    static Result<Vapid> open(const crypto::KeyFolder& folder, std::string contact);
    Vapid(crypto::PrivateKey key, std::string contact)
        : key_(std::move(key)), contact_(std::move(contact)) {}

    /// The key that browsers subscribe with (`applicationServerKey`), in base64url.
    std::string public_key() const;
    /// The field `Authorization` for a push service at `origin`, good for half a day.
    std::string authorization(std::string_view origin, SystemTime now) const;

private:
    crypto::PrivateKey key_;
    std::string contact_;
};

}  // namespace crab::push
