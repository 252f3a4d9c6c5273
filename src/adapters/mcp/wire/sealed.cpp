#include "adapters/mcp/wire/sealed.hpp"

#include "base/base64url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace crab::mcp {
namespace {

// A sealed string: the nonce, then the ciphertext of (expiry, eight bytes of milliseconds since the
// epoch, most significant first, and the text), then the tag.
constexpr std::size_t kExpiryBytes = 8;
constexpr std::size_t kNonceBytes = std::tuple_size_v<crypto::AesGcmNonce>;

std::string additional_data(SealedFor purpose, std::string_view bound_to) {
    const std::string_view name = purpose == SealedFor::kCursor ? "cursor" : "requestState";
    return fmt::format("crab mcp sealed 1\n{}\n{}", name, bound_to);
}

std::string number_bytes(std::uint64_t number) {
    std::string out(kExpiryBytes, '\0');
    for (std::size_t at = out.size(); at-- > 0; number >>= 8U)
        out[at] = static_cast<char>(number & 0xFFU);
    return out;
}

std::uint64_t number_of(std::string_view bytes) {
    std::uint64_t number = 0;
    for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
    return number;
}

}  // namespace

std::string Sealer::seal(SealedFor purpose, std::string_view bound_to, std::string_view text,
                         Milliseconds lifetime) const {
    const auto expiry = to_unix_ms(clock_.system_now() + lifetime);
    const auto nonce = random_.bytes<kNonceBytes>();
    std::string bytes(nonce.begin(), nonce.end());
    bytes +=
        crypto::aes_gcm_seal(key_, nonce, additional_data(purpose, bound_to),
                             number_bytes(static_cast<std::uint64_t>(expiry)) + std::string(text));
    return to_base64url(bytes);
}

std::optional<std::string> Sealer::open(SealedFor purpose, std::string_view bound_to,
                                        std::string_view sealed) const {
    const auto bytes = from_base64url(sealed);
    if (!bytes || bytes->size() < kNonceBytes + kExpiryBytes + crypto::kAesGcmTagSize)
        return std::nullopt;
    crypto::AesGcmNonce nonce{};
    std::copy_n(bytes->begin(), nonce.size(), nonce.begin());
    auto text = crypto::aes_gcm_open(key_, nonce, additional_data(purpose, bound_to),
                                     std::string_view(*bytes).substr(kNonceBytes));
    if (!text) return std::nullopt;
    const auto now = static_cast<std::uint64_t>(to_unix_ms(clock_.system_now()));
    if (number_of(std::string_view(*text).substr(0, kExpiryBytes)) <= now) return std::nullopt;
    text->erase(0, kExpiryBytes);
    return text;
}

}  // namespace crab::mcp
