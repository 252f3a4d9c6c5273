#include "adapters/mcp/server/list_watch.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

struct McpListWatch : test::ServerTest {};

// Row 68, by a clock of the test's own.
TEST_F(McpListWatch, TheFirstChangeIsDueAtOnceThoseOfTheNextSecondTogetherAndNothingWhenNoneShows) {
    parts[0]->server.thread.run([&] {
        const Scope all;
        ToolLists tools(*parts[0]->pipeline, registry, all);
        CatalogLists catalog_lists(*parts[0]->pipeline, catalogs, tools);
        ListWatch watch({.tools = tools, .catalogs = catalog_lists}, ListWatch::What::kTools,
                        core::principal_of("caller/ann"), Revision::k2026_07_28);
        const SteadyTime start{1h};
        EXPECT_EQ(watch.due(), kNoDeadline);
        EXPECT_FALSE(watch.take_change(start)) << "nothing has changed";

        offer("first", gate);
        EXPECT_LE(watch.due(), Deadline(start)) << "nothing is waited for before the first";
        EXPECT_TRUE(watch.take_change(start));
        EXPECT_FALSE(watch.take_change(start)) << "it is told once";

        for (int i = 1; i <= 9; ++i) {
            offer(fmt::format("storm{}", i), gate);
            EXPECT_FALSE(watch.take_change(start + i * 111ms)) << i;
            EXPECT_EQ(watch.due(), Deadline(start + 1s)) << i;
        }
        EXPECT_TRUE(watch.take_change(start + 1s)) << "all nine are one";
        EXPECT_FALSE(watch.take_change(start + 10s));
        EXPECT_EQ(watch.due(), kNoDeadline);

        offer("first", gate);  // as it was
        EXPECT_LE(watch.due(), Deadline(start + 20s)) << "it has to be looked at";
        EXPECT_FALSE(watch.take_change(start + 20s)) << "and shows nothing else";
        EXPECT_EQ(watch.due(), kNoDeadline);
        return 0;
    });
}

}  // namespace
}  // namespace crab::mcp
