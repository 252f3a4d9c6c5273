#include "crypto/ecdsa_form.hpp"

#include "base/encoding.hpp"
#include "crypto/openssl_types.hpp"

#include <memory>

#include <openssl/bn.h>
#include <openssl/ecdsa.h>

namespace crab::crypto {
namespace {

struct FreeEcdsa {
    void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
using OwnedEcdsa = std::unique_ptr<ECDSA_SIG, FreeEcdsa>;

Owned<BIGNUM> number(std::string_view big_endian) {
    return Owned<BIGNUM>(
        BN_bin2bn(bytes_of(big_endian).data(), static_cast<int>(big_endian.size()), nullptr));
}

}  // namespace

std::string ecdsa_to_der(std::string_view pair, std::size_t half) {
    if (pair.size() != 2 * half) return {};
    const OwnedEcdsa signature(ECDSA_SIG_new());
    Owned<BIGNUM> r = number(pair.substr(0, half)), s = number(pair.substr(half));
    if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
    r.release(), s.release();
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(signature.get(), &der);
    if (size <= 0) return {};
    std::string result(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    return result;
}

std::string ecdsa_from_der(std::string_view der, std::size_t half) {
    const unsigned char* at = bytes_of(der).data();
    const OwnedEcdsa signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
    std::string pair(2 * half, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(pair.data());
    const int width = static_cast<int>(half);
    require_openssl(signature &&
                        BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, width) == width &&
                        BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + half, width) == width,
                    "an ECDSA signature failed");
    return pair;
}

}  // namespace crab::crypto
