#include "adapters/mcp/server/resource_links.hpp"

#include "base/clock.hpp"

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
    for (std::size_t i = 0; i <= ResourceLinks::kPerPrincipal; ++i)
        links.remember("ann", std::to_string(i), "docs");
    EXPECT_EQ(links.source_of("ann", "0"), "");
    EXPECT_EQ(links.source_of("ann", "1"), "docs");
}

}  // namespace
}  // namespace crab::mcp
