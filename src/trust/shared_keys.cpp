#include "trust/shared_keys.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "crypto/random.hpp"

namespace crab::trust {
namespace {

std::string seal_by(const SharedKeys::Key& key, std::string_view text) {
    return to_hex(crypto::hmac_sha256(key.reveal(), bytes_of(text)));
}

}  // namespace

SharedKeys SharedKeys::make() {
    std::array<std::uint8_t, 32> bytes{};
    crypto::fill_random(bytes);
    return SharedKeys({Key(bytes)});
}

std::string SharedKeys::seal(std::string_view text) const { return seal_by(keys_.front(), text); }

std::vector<std::string> SharedKeys::seals(std::string_view text) const {
    std::vector<std::string> made;
    for (const Key& key : keys_) made.push_back(seal_by(key, text));
    return made;
}

}  // namespace crab::trust
