#include "trust/sealed_secret.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crab::trust {
namespace {

SharedKeys::Key key_of(std::uint8_t byte) {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(byte);
    return SharedKeys::Key(bytes);
}

TEST(SealedSecretTest, IsOpenedByWhoeverHasItsKeyUnderItsNameAlone) {
    const std::vector<SharedKeys::Key> old{key_of(1)}, both{key_of(2), key_of(1)}, other{key_of(3)};
    const std::string sealed = seal_secret(old, "gateway", Secret<std::string>("the private key"));
    EXPECT_EQ(sealed.find("private"), sealed.npos);
    const auto opened = open_secret(old, "gateway", sealed);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->secret.reveal(), "the private key");
    EXPECT_TRUE(opened->by_first);
    const auto later = open_secret(both, "gateway", sealed);
    ASSERT_TRUE(later);
    EXPECT_EQ(later->secret.reveal(), "the private key");
    EXPECT_FALSE(later->by_first) << "it has to be sealed again";
    EXPECT_FALSE(open_secret(other, "gateway", sealed));
    EXPECT_FALSE(open_secret(old, "another", sealed));
    EXPECT_FALSE(open_secret(old, "gateway", sealed.substr(0, 5)));
}

TEST(SealedSecretTest, AnyFlippedBitIsNoticed) {
    const std::vector<SharedKeys::Key> keys{key_of(1)};
    const std::string sealed = seal_secret(keys, "gateway", Secret<std::string>("secret"));
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string forged = sealed;
        forged[i] = static_cast<char>(forged[i] ^ 1);
        EXPECT_FALSE(open_secret(keys, "gateway", forged)) << i;
    }
}

}  // namespace
}  // namespace crab::trust
