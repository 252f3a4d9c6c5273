#include "base/id_source.hpp"

#include "base/encoding.hpp"
#include "base/test_clock.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

std::string digits(std::string_view uuid) {
    std::string out(uuid);
    std::erase(out, '-');
    return out;
}

TEST(IdSource, AUuidHasTheLayoutOfVersionSeven) {
    FakeClock clock;
    IdSource ids(clock, 1);
    const std::string text(ids.uuid_v7().view());
    ASSERT_EQ(text.size(), 36u);
    for (const std::size_t at : {8, 13, 18, 23}) EXPECT_EQ(text[at], '-');
    ASSERT_TRUE(from_hex(digits(text)));
    EXPECT_EQ(text[14], '7');
    EXPECT_NE(std::string_view("89ab").find(text[19]), std::string_view::npos);
    EXPECT_EQ(std::stoull(digits(text).substr(0, 12), nullptr, 16),
              static_cast<unsigned long long>(to_unix_ms(clock.system_now())));
}

TEST(IdSource, TheExampleOfRfc9562IsFormattedAsThere) {
    EXPECT_EQ(UuidText(0x017F22E279B07CC3, 0x98C4DC0C0C07398F).view(),
              "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(IdSource, LaterMillisecondsSortLater) {
    FakeClock clock;
    IdSource ids(clock, 1);
    std::string last;
    for (int i = 0; i < 100; ++i) {
        const std::string next(ids.uuid_v7().view());
        EXPECT_GT(next, last);
        last = next;
        clock.advance(1ms);
    }
}

TEST(IdSource, ATagComesBackFromItsUuid) {
    FakeClock clock;
    IdSource ids(clock, 1);
    for (const std::uint64_t tag :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x3fff'ffff'ffff'ffff},
          std::uint64_t{0x1234'5678'9abc'def0}}) {
        const UuidText uuid = ids.uuid_v7(tag);
        EXPECT_EQ(uuid_tag(uuid.view()), tag);
        std::string upper(uuid.view());
        std::ranges::transform(upper, upper.begin(),
                               [](char c) { return static_cast<char>(std::toupper(c)); });
        EXPECT_EQ(uuid_tag(upper), tag);
    }
}

TEST(IdSource, OtherTextHasNoTag) {
    FakeClock clock;
    IdSource ids(clock, 1);
    const std::string good(ids.uuid_v7(5).view());
    EXPECT_EQ(uuid_tag(""), std::nullopt);
    EXPECT_EQ(uuid_tag(good.substr(1)), std::nullopt);
    EXPECT_EQ(uuid_tag(good + "0"), std::nullopt);
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = 'g';
        EXPECT_EQ(uuid_tag(bad), std::nullopt) << bad;
    }
}

TEST(IdSource, OneSeedGivesOneSequenceAndOthersDiffer) {
    FakeClock clock;
    IdSource one(clock, 1), same(clock, 1), other(clock, 2), system(clock);
    std::set<std::string> seen;
    for (int i = 0; i < 200; ++i) {
        const std::string id(one.uuid_v7().view());
        EXPECT_EQ(id, same.uuid_v7().view());
        seen.insert(id);
        seen.emplace(other.uuid_v7().view());
        seen.emplace(system.uuid_v7().view());
    }
    EXPECT_EQ(seen.size(), 600u);
}

}  // namespace
}  // namespace crab
