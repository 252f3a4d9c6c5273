#include "adapters/mcp/wire/sealed.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

crypto::AesKey key_of(std::uint8_t byte) {
    std::array<std::uint8_t, 32> bytes;
    bytes.fill(byte);
    return crypto::AesKey(bytes);
}

class McpSealed : public testing::Test {
protected:
    std::optional<std::string> open(std::string_view sealed) const {
        return sealer.open(SealedFor::kCursor, "caller/ci tools/list", sealed);
    }
    std::string seal(std::string_view text) const {
        return sealer.seal(SealedFor::kCursor, "caller/ci tools/list", text, 1h);
    }

    crypto::SystemRandom random;
    FakeClock clock;
    Sealer sealer{key_of(1), random, clock};
};

TEST_F(McpSealed, WhatWasSealedOpensAndShowsNothing) {
    for (const std::string_view text : {"", "last_name", "\xff\xfe binary"}) {
        const std::string sealed = seal(text);
        EXPECT_EQ(open(sealed), text);
        EXPECT_EQ(sealed.find_first_of("+/="), std::string::npos);
        EXPECT_FALSE(sealed.contains("last_name"));
    }
    std::set<std::string> different;
    for (int i = 0; i < 32; ++i) different.insert(seal("a"));
    EXPECT_EQ(different.size(), 32U) << "a nonce serves once";
}

TEST_F(McpSealed, NoChangedCharacterOpens) {
    const std::string sealed = seal("last_name");
    for (std::size_t at = 0; at < sealed.size(); ++at) {
        std::string changed = sealed;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        EXPECT_EQ(open(changed), std::nullopt) << at;
    }
    for (std::size_t size = 0; size < sealed.size(); ++size)
        EXPECT_EQ(open(std::string_view(sealed).substr(0, size)), std::nullopt) << size;
    EXPECT_EQ(open(sealed + "A"), std::nullopt);
    EXPECT_EQ(open(sealed + "="), std::nullopt);
    EXPECT_EQ(open("not sealed at all"), std::nullopt);
}

TEST_F(McpSealed, OtherKeysPurposesAndOwnersDoNotOpenIt) {
    const std::string sealed = seal("x");
    EXPECT_EQ(sealer.open(SealedFor::kRequestState, "caller/ci tools/list", sealed), std::nullopt);
    EXPECT_EQ(sealer.open(SealedFor::kCursor, "caller/other tools/list", sealed), std::nullopt);
    EXPECT_EQ(sealer.open(SealedFor::kCursor, "caller/ci prompts/list", sealed), std::nullopt);
    const Sealer other(key_of(2), random, clock);
    EXPECT_EQ(other.open(SealedFor::kCursor, "caller/ci tools/list", sealed), std::nullopt);
}

TEST_F(McpSealed, ItOpensUntilItsLifetimeIsOver) {
    const std::string sealed = seal("x");
    clock.advance(1h - 1ms);
    EXPECT_EQ(open(sealed), "x");
    clock.advance(1ms);
    EXPECT_EQ(open(sealed), std::nullopt);
}

}  // namespace
}  // namespace crab::mcp
