#include "push/push_message.hpp"

#include "crypto/aes_gcm.hpp"
#include "crypto/digest.hpp"
#include "crypto/p256.hpp"

#include <algorithm>

namespace crab::push {
namespace {

constexpr std::size_t kAuthBytes = 16;
constexpr std::uint32_t kRecordBytes = 4096;
constexpr char kLastRecord = 2;  ///< the delimiter before padding, which there is none of

std::string text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// HKDF with SHA-256 (RFC 5869), one block of output.
template <std::size_t N>
std::array<std::uint8_t, N> derive(std::string_view salt, std::string_view key,
                                   std::string_view info) {
    static_assert(N <= 32);
    const crypto::Sha256Digest extracted = crypto::hmac_sha256(bytes_of(salt), bytes_of(key));
    const crypto::Sha256Digest block =
        crypto::hmac_sha256(extracted, bytes_of(std::string(info) + '\x01'));
    std::array<std::uint8_t, N> out{};
    std::copy_n(block.begin(), N, out.begin());
    return out;
}

std::string with_nul(std::string_view text) { return std::string(text) + '\0'; }

}  // namespace

std::optional<std::string> seal_push(const ReceiverKeys& receiver, std::string_view plain,
                                     const crypto::PrivateKey& sender,
                                     const std::array<std::uint8_t, 16>& salt) {
    if (receiver.secret.size() != kAuthBytes || plain.size() > kMostPlainBytes) return std::nullopt;
    const auto shared = crypto::p256_agree(sender, receiver.point);
    if (!shared) return std::nullopt;
    const std::string own = crypto::p256_point_of(sender);
    const auto secret = derive<32>(receiver.secret, text_of(shared->reveal()),
                                   with_nul("WebPush: info") + receiver.point + own);
    const std::string salted = text_of(salt), input = text_of(secret);
    const Secret key(derive<16>(salted, input, with_nul("Content-Encoding: aes128gcm")));
    const auto nonce = derive<12>(salted, input, with_nul("Content-Encoding: nonce"));
    std::string body = salted;
    for (int shift = 24; shift >= 0; shift -= 8)
        body.push_back(static_cast<char>(kRecordBytes >> shift));
    body.push_back(static_cast<char>(own.size()));
    body += own;
    return body + crypto::aes_128_gcm_seal(key, nonce, std::string(plain) + kLastRecord);
}

std::optional<std::string> seal_push(const ReceiverKeys& receiver, std::string_view plain,
                                     crypto::RandomSource& random) {
    return seal_push(receiver, plain, crypto::PrivateKey::generate_p256(), random.bytes<16>());
}

}  // namespace crab::push
