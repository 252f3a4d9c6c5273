#include "crypto/jws.hpp"

#include "base/base64url.hpp"
#include "crypto/test_keys.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

std::string raw(std::string_view text) { return from_base64url(text).value(); }

/// What RFC 7515 signs in its examples A.2 and A.3.
constexpr std::string_view kClaims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
/// What RFC 7520 signs in chapter 4.
constexpr std::string_view kFrodo =
    "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAg"
    "b250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dp"
    "bmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4";

void expect_good(const Result<JwsKey>& key, JwsAlgorithm algorithm, const std::string& message,
                 std::string_view signature) {
    ASSERT_TRUE(key) << key.error().message;
    std::string bytes = raw(signature);
    EXPECT_TRUE(key->verify(algorithm, message, bytes));
    EXPECT_FALSE(key->verify(algorithm, message + "x", bytes));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    EXPECT_FALSE(key->verify(algorithm, message, bytes));
    EXPECT_FALSE(key->verify(algorithm, message, bytes.substr(1)));
    EXPECT_FALSE(key->verify(algorithm, message, ""));
}

TEST(Jws, TheRs256ExampleOfRfc7515IsGood) {
    const auto key = JwsKey::rsa(
        raw("ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1"
            "Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpa"
            "SHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4"
            "LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
        raw("AQAB"));
    expect_good(
        key, JwsAlgorithm::kRs256, "eyJhbGciOiJSUzI1NiJ9." + std::string(kClaims),
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2F"
        "p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQB"
        "MHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeY"
        "I2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw");
    EXPECT_FALSE(key->fits(JwsAlgorithm::kEs256));
}

TEST(Jws, TheEs256ExampleOfRfc7515IsGood) {
    expect_good(JwsKey::ec("P-256", raw("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                           raw("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")),
                JwsAlgorithm::kEs256, "eyJhbGciOiJFUzI1NiJ9." + std::string(kClaims),
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-"
                "Kg6NU1Q");
}

TEST(Jws, ThePs384ExampleOfRfc7520IsGood) {
    const auto key = JwsKey::rsa(
        raw("n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQH"
            "z_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFE"
            "HYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-t"
            "VTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw"),
        raw("AQAB"));
    expect_good(
        key, JwsAlgorithm::kPs384,
        "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9." +
            std::string(kFrodo),
        "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8"
        "TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRm"
        "BqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQT"
        "lqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw");
}

TEST(Jws, TheEs512ExampleOfRfc7520IsGood) {
    expect_good(
        JwsKey::ec("P-521",
                   raw("AHKZLLOsCOzz5cY97ewNUajB957y-C-U88c3v13nmGZx6sYl_oJXu9A5RkTKqjqvjyekWF-"
                       "7ytDyRXYgCF5cj0Kt"),
                   raw("AdymlHvOiLxXkEhayXQnNCvDX4h9htZaCJN34kfmC6pV5OhQHiraVySsUdaQkAgDPrwQrJmbnX9"
                       "cwlGfP-HqHZR1")),
        JwsAlgorithm::kEs512,
        "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9." +
            std::string(kFrodo),
        "AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZGYNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJAQ"
        "y3mtPBu_u_sDDyYjnAMDxXPn7XrT0lw-kvAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2");
}

TEST(Jws, TheEdDsaExampleOfRfc8037IsGood) {
    expect_good(JwsKey::ed25519(raw("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
                JwsAlgorithm::kEdDsa, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_"
                "MuM0KAg");
}

TEST(Jws, OnlySignaturesOfPublicKeysHaveAName) {
    EXPECT_EQ(find_jws_algorithm("ES384"), JwsAlgorithm::kEs384);
    EXPECT_EQ(name_of(JwsAlgorithm::kEdDsa), "EdDSA");
    for (const char* name : {"none", "None", "", "HS256", "HS512", "es256", "RS1", "ES256K"})
        EXPECT_FALSE(find_jws_algorithm(name)) << name;
}

TEST(Jws, WhatIsNoKeyIsRefused) {
    EXPECT_FALSE(JwsKey::rsa("", ""));
    EXPECT_FALSE(JwsKey::rsa(std::string(128, '\xff'), "\x01\x00\x01"));  // 1024 bits
    EXPECT_FALSE(JwsKey::rsa(std::string(2000, '\xff'), "\x03"));
    EXPECT_FALSE(JwsKey::rsa(std::string(256, '\xff'), "\x01"));
    EXPECT_FALSE(JwsKey::rsa(std::string(256, '\xff'), std::string(9, '\x03')));
    EXPECT_FALSE(JwsKey::ec("P-256", std::string(32, '\x01'), std::string(32, '\x02')));
    EXPECT_FALSE(JwsKey::ec("P-256", std::string(31, '\x01'), std::string(33, '\x02')));
    EXPECT_FALSE(JwsKey::ec("secp256k1", std::string(32, '\x01'), std::string(32, '\x02')));
    EXPECT_FALSE(JwsKey::ed25519("short"));
}

/// The numbers of an RSA key of ours, for its public half.
JwsKey public_half(const PrivateKey& key) {
    BIGNUM *n = nullptr, *e = nullptr;
    EVP_PKEY_get_bn_param(key.handle(), "n", &n);
    EVP_PKEY_get_bn_param(key.handle(), "e", &e);
    std::string modulus(static_cast<std::size_t>(BN_num_bytes(n)), '\0');
    std::string exponent(static_cast<std::size_t>(BN_num_bytes(e)), '\0');
    BN_bn2bin(n, reinterpret_cast<unsigned char*>(modulus.data()));
    BN_bn2bin(e, reinterpret_cast<unsigned char*>(exponent.data()));
    BN_free(n), BN_free(e);
    return JwsKey::rsa(modulus, exponent).value();
}

TEST(Jws, OwnKeysSignInTheAlgorithmOfTheirKind) {
    const PrivateKey rsa = test::rsa_key(2048);
    EXPECT_EQ(jws_algorithm_of(rsa), JwsAlgorithm::kRs256);
    EXPECT_TRUE(public_half(rsa).verify(JwsAlgorithm::kRs256, "text", jws_sign(rsa, "text")));
    EXPECT_FALSE(public_half(rsa).verify(JwsAlgorithm::kPs256, "text", jws_sign(rsa, "text")));

    const PrivateKey p256 = PrivateKey::generate_p256();
    EXPECT_EQ(jws_algorithm_of(p256), JwsAlgorithm::kEs256);
    // a SubjectPublicKeyInfo ends with the point
    const std::string point = p256.public_key().der.substr(p256.public_key().der.size() - 64);
    const auto half = JwsKey::ec("P-256", point.substr(0, 32), point.substr(32));
    ASSERT_TRUE(half);
    EXPECT_TRUE(half->verify(JwsAlgorithm::kEs256, "text", jws_sign(p256, "text")));

    EXPECT_FALSE(jws_algorithm_of(PrivateKey::generate_ed25519()));
    EXPECT_FALSE(jws_algorithm_of(test::p384_key()));
    EXPECT_FALSE(jws_algorithm_of(test::rsa_key(1024)));
}

}  // namespace
}  // namespace crab::crypto
