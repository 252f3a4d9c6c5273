#include "trust/shared_identity.hpp"

#include "base/test_clock.hpp"
#include "trust/pairing/pairing_keys.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/stat.h>

namespace crab::trust {
namespace {

class FakeShelf final : public SecretShelf {
public:
    Result<std::optional<StoredSecret>> find_secret(std::string_view name) override {
        const auto found = secrets.find(name);
        if (found == secrets.end()) return std::nullopt;
        return found->second;
    }
    Result<StoredSecret> share_secret(std::string_view name, const StoredSecret& secret) override {
        return secrets.try_emplace(std::string(name), secret).first->second;
    }
    Result<void> replace_secret(std::string_view name, std::string_view before,
                                std::string_view sealed) override {
        const auto found = secrets.find(name);
        if (found != secrets.end() && found->second.sealed == before) found->second.sealed = sealed;
        return {};
    }

    std::map<std::string, StoredSecret, std::less<>> secrets;
};

using Keys = std::vector<SharedKeys::Key>;

SharedKeys::Key key_of(std::uint8_t byte) {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(byte);
    return SharedKeys::Key(bytes);
}

class SharedIdentityTest : public testing::Test {
protected:
    SharedIdentityTest() {
        std::string made = std::filesystem::temp_directory_path() / "crab_identity_XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path = made;
    }
    ~SharedIdentityTest() override { std::filesystem::remove_all(path); }

    crypto::KeyFolder folder(const std::string& node) {
        ::mkdir((path / node).c_str(), 0700);
        return crypto::KeyFolder::open(path / node).value();
    }
    Result<GatewayKeys> own(const std::string& node) {
        return GatewayKeys::load_or_make(folder(node), node, clock.system_now(), random);
    }
    /// Of the identity's file, made if it is not there.
    std::string text_of(const std::string& node) {
        return own(node).value().identity.to_text().reveal();
    }
    /// The node starts with such a file of keys.
    Result<bool> start(const std::string& node, const Keys& keys) {
        const crypto::KeyFolder files = folder(node);
        return SharedIdentity{.folder = files,
                              .shelf = shelf,
                              .keys = keys,
                              .make = [&]() -> Result<void> {
                                  if (auto made = own(node); !made) return fail(made.error());
                                  return {};
                              }}
            .take();
    }

    FakeClock clock;
    crypto::SystemRandom random;
    FakeShelf shelf;
    const Keys old{key_of(1)}, both{key_of(2), key_of(1)}, fresh{key_of(2)};
    std::filesystem::path path;
};

TEST_F(SharedIdentityTest, IsThatOfTheNodeThatCameFirst) {
    const std::string second = text_of("south");
    EXPECT_FALSE(start("north", old).value());
    EXPECT_TRUE(start("south", old).value()) << "it had another";
    EXPECT_FALSE(start("west", old).value()) << "it had none";
    EXPECT_EQ(text_of("south"), text_of("north"));
    EXPECT_EQ(text_of("west"), text_of("north"));
    EXPECT_NE(text_of("south"), second);
    EXPECT_TRUE(std::filesystem::exists(path / "south" / "gateway_identity.json.before_fleet"));
    EXPECT_FALSE(start("south", old).value()) << "it has it now";
}

TEST_F(SharedIdentityTest, IsSealedByTheNewestKeyAtTheNextStart) {
    ASSERT_TRUE(start("north", old));
    ASSERT_TRUE(start("north", both));
    EXPECT_FALSE(start("west", fresh).value()) << "the former key is not needed any more";
    EXPECT_EQ(text_of("west"), text_of("north"));
}

TEST_F(SharedIdentityTest, WithoutItsKeyANodeThatStillHasItSealsItAnew) {
    ASSERT_TRUE(start("north", old));
    const auto refused = start("west", fresh);
    ASSERT_FALSE(refused) << "it has nothing";
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("add the former key"), std::string::npos);
    ASSERT_TRUE(own("east"));
    EXPECT_FALSE(start("east", fresh)) << "it has another one";
    EXPECT_FALSE(start("north", fresh).value());
    EXPECT_FALSE(start("west", fresh).value());
    EXPECT_EQ(text_of("west"), text_of("north"));
    EXPECT_TRUE(start("east", fresh).value());
}

TEST_F(SharedIdentityTest, OnceItIsRemovedTheNextNodesIsTheFleets) {
    ASSERT_TRUE(start("north", old));
    const std::string former = text_of("north");
    shelf.secrets.clear();
    EXPECT_FALSE(start("west", fresh).value());
    EXPECT_NE(text_of("west"), former);
    EXPECT_TRUE(start("north", fresh).value());
    EXPECT_EQ(text_of("north"), text_of("west"));
}

}  // namespace
}  // namespace crab::trust
