#include "crypto/digest.hpp"

#include "base/encoding.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace crab::crypto {
namespace {

void require(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
}

template <class Digest>
Digest digest_of(const EVP_MD* method, std::span<const std::uint8_t> bytes) {
    Digest digest;
    unsigned size = 0;
    require(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, method, nullptr) == 1,
            "digest failed");
    return digest;
}

}  // namespace

Sha256Digest sha256(std::span<const std::uint8_t> bytes) {
    return digest_of<Sha256Digest>(EVP_sha256(), bytes);
}

std::string sha256_hex(std::string_view text) { return to_hex(sha256(text)); }

Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) {
    static constexpr std::uint8_t kNoKey = 0;  // OpenSSL takes a null key for "the previous one"
    Sha256Digest digest;
    unsigned size = 0;
    const void* const key_bytes = key.empty() ? &kNoKey : key.data();
    require(HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()), bytes.data(), bytes.size(),
                 digest.data(), &size) != nullptr,
            "HMAC failed");
    return digest;
}

bool constant_time_equal(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right) {
    if (left.size() != right.size()) return false;
    return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

struct Sha256::Context {
    Context() { start(); }
    ~Context() { EVP_MD_CTX_free(evp); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    void start() {
        require(evp != nullptr && EVP_DigestInit_ex(evp, EVP_sha256(), nullptr) == 1,
                "digest failed");
    }

    EVP_MD_CTX* evp = EVP_MD_CTX_new();
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const std::uint8_t> bytes) {
    require(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1, "digest failed");
    return *this;
}

Sha256& Sha256::update_number(std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
    return update(bytes);
}

Sha256Digest Sha256::finish() {
    Sha256Digest digest;
    require(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) == 1, "digest failed");
    context_->start();
    return digest;
}

}  // namespace crab::crypto
