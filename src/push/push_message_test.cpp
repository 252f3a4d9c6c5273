#include "push/push_message.hpp"

#include "base/base64url.hpp"
#include "crypto/p256.hpp"
#include "crypto/pem.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace crab::push {
namespace {

/// A P-256 key of its parts, in the form of RFC 5915.
crypto::PrivateKey key_of(std::string_view scalar, std::string_view point) {
    const std::string der =
        std::string("\x30\x77\x02\x01\x01\x04\x20", 7) + from_base64url(scalar).value() +
        std::string("\xa0\x0a\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\xa1\x44\x03\x42\x00", 17) +
        from_base64url(point).value();
    return crypto::PrivateKey::from_pem(Secret(crypto::encode_pem("EC PRIVATE KEY", der))).value();
}

const ReceiverKeys kReceiver{
    .point = from_base64url("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7V"
                            "d8pZGH6SRpkNtoIAiw4")
                 .value(),
    .secret = from_base64url("BTBZMqHH6r4Tts7J_aSIgg").value()};

TEST(PushMessage, TheExampleOfRfc8291ComesOut) {
    const crypto::PrivateKey sender =
        key_of("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
               "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3j"
               "l7A8");
    std::array<std::uint8_t, 16> salt{};
    std::ranges::copy(from_base64url("DGv6ra1nlYgDCS1FRnbzlw").value(), salt.begin());
    const auto sealed =
        seal_push(kReceiver, "When I grow up, I want to be a watermelon", sender, salt);
    ASSERT_TRUE(sealed);
    EXPECT_EQ(to_base64url(*sealed),
              "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
              "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV"
              "WGNWQexSgSxsj_Qulcy4a-fN");
}

TEST(PushMessage, ItFitsWhatPushServicesTakeAndIsNeverTheSameTwice) {
    crypto::SystemRandom random;
    const auto longest = seal_push(kReceiver, std::string(kMostPlainBytes, 'x'), random);
    ASSERT_TRUE(longest);
    EXPECT_LE(longest->size(), 4096u);
    EXPECT_FALSE(seal_push(kReceiver, std::string(kMostPlainBytes + 1, 'x'), random));
    EXPECT_NE(seal_push(kReceiver, "a", random), seal_push(kReceiver, "a", random));
}

TEST(PushMessage, KeysThatAreNoneAreRefused) {
    crypto::SystemRandom random;
    ReceiverKeys bad = kReceiver;
    bad.secret.pop_back();
    EXPECT_FALSE(seal_push(bad, "a", random));
    bad = kReceiver;
    bad.point.back() = static_cast<char>(bad.point.back() ^ 1);
    EXPECT_FALSE(seal_push(bad, "a", random)) << "no point of the curve";
    bad.point = std::string(65, '\0');
    EXPECT_FALSE(seal_push(bad, "a", random));
    bad.point = kReceiver.point.substr(0, 64);
    EXPECT_FALSE(seal_push(bad, "a", random));
    bad.point = "";
    EXPECT_FALSE(seal_push(bad, "a", random));
}

}  // namespace
}  // namespace crab::push
