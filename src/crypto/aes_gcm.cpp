#include "crypto/aes_gcm.hpp"

#include "crypto/openssl_types.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace crab::crypto {
namespace {

const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int size_of(std::string_view text) {
    constexpr std::size_t kMost = 1 << 30;
    if (text.size() > kMost) throw std::length_error("text too long for one AES-GCM operation");
    return static_cast<int>(text.size());
}

std::string seal(const EVP_CIPHER* cipher, const std::uint8_t* key, const AesGcmNonce& nonce,
                 std::string_view additional_data, std::string_view plaintext) {
    const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
    std::string sealed(plaintext.size() + kAesGcmTagSize, '\0');
    int written = 0;
    const bool done =
        context != nullptr &&
        EVP_EncryptInit_ex(context.get(), cipher, nullptr, key, nonce.data()) == 1 &&
        EVP_EncryptUpdate(context.get(), nullptr, &written, bytes(additional_data),
                          size_of(additional_data)) == 1 &&
        EVP_EncryptUpdate(context.get(), bytes(sealed), &written, bytes(plaintext),
                          size_of(plaintext)) == 1 &&
        EVP_EncryptFinal_ex(context.get(), bytes(sealed) + plaintext.size(), &written) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kAesGcmTagSize,
                            bytes(sealed) + plaintext.size()) == 1;
    require_openssl(done, "AES-GCM failed");
    return sealed;
}

}  // namespace

std::string aes_gcm_seal(const AesKey& key, const AesGcmNonce& nonce,
                         std::string_view additional_data, std::string_view plaintext) {
    return seal(EVP_aes_256_gcm(), key.reveal().data(), nonce, additional_data, plaintext);
}

std::string aes_128_gcm_seal(const Secret<std::array<std::uint8_t, 16>>& key,
                             const AesGcmNonce& nonce, std::string_view plaintext) {
    return seal(EVP_aes_128_gcm(), key.reveal().data(), nonce, {}, plaintext);
}

std::optional<std::string> aes_gcm_open(const AesKey& key, const AesGcmNonce& nonce,
                                        std::string_view additional_data, std::string_view sealed) {
    if (sealed.size() < kAesGcmTagSize) return std::nullopt;
    const std::string_view ciphertext = sealed.substr(0, sealed.size() - kAesGcmTagSize);
    std::string tag(sealed.substr(ciphertext.size()));
    const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
    // one more, so that it points somewhere when empty
    std::string plaintext(ciphertext.size() + 1, '\0');
    int written = 0;
    require_openssl(context != nullptr &&
                        EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                           key.reveal().data(), nonce.data()) == 1 &&
                        EVP_DecryptUpdate(context.get(), nullptr, &written, bytes(additional_data),
                                          size_of(additional_data)) == 1 &&
                        EVP_DecryptUpdate(context.get(), bytes(plaintext), &written,
                                          bytes(ciphertext), size_of(ciphertext)) == 1 &&
                        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kAesGcmTagSize,
                                            tag.data()) == 1,
                    "AES-GCM failed");
    if (EVP_DecryptFinal_ex(context.get(), bytes(plaintext) + ciphertext.size(), &written) != 1) {
        forget_openssl_errors();
        return std::nullopt;
    }
    plaintext.pop_back();
    return plaintext;
}

}  // namespace crab::crypto
