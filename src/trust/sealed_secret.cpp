#include "trust/sealed_secret.hpp"

#include "crypto/aes_gcm.hpp"
#include "crypto/random.hpp"

#include <algorithm>

namespace crab::trust {

std::string seal_secret(std::span<const SharedKeys::Key> keys, std::string_view name,
                        const Secret<std::string>& secret) {
    crypto::AesGcmNonce nonce{};
    crypto::fill_random(nonce);
    std::string sealed(nonce.begin(), nonce.end());
    return sealed + crypto::aes_gcm_seal(keys.front(), nonce, name, secret.reveal());
}

std::optional<OpenedSecret> open_secret(std::span<const SharedKeys::Key> keys,
                                        std::string_view name, std::string_view sealed) {
    crypto::AesGcmNonce nonce{};
    if (sealed.size() < nonce.size()) return std::nullopt;
    std::ranges::copy(sealed.substr(0, nonce.size()), nonce.begin());
    for (const SharedKeys::Key& key : keys) {
        auto text = crypto::aes_gcm_open(key, nonce, name, sealed.substr(nonce.size()));
        if (text)
            return OpenedSecret{.secret = Secret(std::move(*text)),
                                .by_first = &key == &keys.front()};
    }
    return std::nullopt;
}

}  // namespace crab::trust
