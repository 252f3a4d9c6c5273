#include "base/encoding.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crab {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Encoding, Base64AgreesWithTheVectorsOfRfc4648) {
    const std::pair<std::string_view, std::string_view> vectors[]{{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, coded] : vectors) {
        EXPECT_EQ(to_base64(bytes(plain)), coded);
        EXPECT_EQ(from_base64(coded), plain);
    }
}

TEST(Encoding, Base64RefusesWhatNoEncoderWrites) {
    for (const std::string_view bad : {"Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==",
                                       "Z-8=", "Z_8=", "Zm 8", "Zm8=\n", "=m8=", "Zm=8"}) {
        EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
    }
}

TEST(Encoding, HexAgreesWithTheVectorsOfRfc4648) {
    EXPECT_EQ(to_hex(bytes("foobar")), "666f6f626172");
    EXPECT_EQ(from_hex("666F6f626172"), "foobar");
    EXPECT_EQ(from_hex(""), "");
    for (const std::string_view bad : {"6", "6g", "0x", " 66", "6-"})
        EXPECT_EQ(from_hex(bad), std::nullopt) << bad;
}

TEST(Encoding, RandomBytesComeBackFromBothForms) {
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i) {
        std::string plain(random() % 70, '\0');
        for (char& c : plain) c = static_cast<char>(random());
        EXPECT_EQ(from_base64(to_base64(bytes(plain))), plain);
        EXPECT_EQ(from_hex(to_hex(bytes(plain))), plain);
    }
}

}  // namespace
}  // namespace crab
