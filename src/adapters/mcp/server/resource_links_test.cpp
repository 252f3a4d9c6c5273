#include "adapters/mcp/server/resource_links.hpp"

#include "base/test_clock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

TEST(McpResourceLinks, ALinkIsOfItsPrincipalAndForAnHour) {
    FakeClock clock;
    ResourceLinks links(clock);
    links.remember("ann", "x:1", "docs");
    links.remember("ann", "x:1", "wiki");
    EXPECT_EQ(links.source_of("ann", "x:1"), "wiki");
    EXPECT_EQ(links.source_of("bob", "x:1"), "");
    clock.advance(ResourceLinks::kKept);
    EXPECT_EQ(links.source_of("ann", "x:1"), "");
}

TEST(McpResourceLinks, TheOldestOfTooManyIsForgotten) {
    FakeClock clock;
    ResourceLinks links(clock);
    for (std::size_t i = 0; i <= ResourceLinks::Limits().per_principal; ++i)
        links.remember("ann", std::to_string(i), "docs");
    EXPECT_EQ(links.source_of("ann", "0"), "");
    EXPECT_EQ(links.source_of("ann", "1"), "docs");
}

TEST(McpResourceLinks, TheyTakeALimitedNumberOfBytes) {
    FakeClock clock;
    ResourceLinks links(clock, {.principals = 3, .bytes_per_principal = 40'000, .bytes = 90'000});
    const auto uri = [](int i) { return fmt::format("x:{:08000}", i); };
    links.remember("ann", "x:" + std::string(8 << 10, 'u'), "docs");
    EXPECT_EQ(links.bytes(), 0u) << "nobody can ask for it";
    for (int i = 0; i < 10; ++i) links.remember("ann", uri(i), "docs");
    EXPECT_LE(links.bytes(), 40'000u);
    EXPECT_EQ(links.source_of("ann", uri(9)), "docs");
    EXPECT_EQ(links.source_of("ann", uri(1)), "");
    for (const char* who : {"bob", "cid", "ann", "dan"})
        for (int i = 0; i < 3; ++i) links.remember(who, uri(i), "docs");
    EXPECT_LE(links.bytes(), 90'000u);
    EXPECT_EQ(links.source_of("dan", uri(2)), "docs") << "newcomers have their place";
    EXPECT_EQ(links.source_of("bob", uri(2)), "");
}

}  // namespace
}  // namespace crab::mcp
