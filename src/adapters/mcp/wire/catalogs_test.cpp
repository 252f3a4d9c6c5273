#include "adapters/mcp/wire/catalogs.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(McpCatalogs, ASetReplacesWhatTheSourceHadAndIsTold) {
    Catalogs catalogs;
    int told = 0;
    const auto watch = catalogs.changes().watch([&] { ++told; });
    const auto before = catalogs.get();
    Catalog catalog;
    catalog.source = "docs";
    catalog.prompts = {{"p", R"({"name":"p"})"}};
    catalogs.set("docs", std::make_shared<const Catalog>(catalog));
    catalog.prompts.clear();
    catalogs.set("docs", std::make_shared<const Catalog>(catalog));
    EXPECT_TRUE(before->empty());
    ASSERT_EQ(catalogs.get()->size(), 1u);
    EXPECT_TRUE(catalogs.get()->at("docs")->prompts.empty());
    catalogs.drop("docs");
    EXPECT_TRUE(catalogs.get()->empty());
    EXPECT_EQ(told, 3);
    catalogs.drop("docs");
    EXPECT_EQ(told, 3);
}

TEST(McpResourceWatches, WhatIsWatchedIsWantedOnceUntilNobodyDoes) {
    ResourceWatches watches;
    int changed = 0, updated = 0;
    const auto watch = watches.changes().watch([&] { ++changed; });
    std::optional first = watches.watch("a", "x:1", [&] { ++updated; });
    {
        const auto second = watches.watch("a", "x:1", [&] { updated += 10; });
        const auto other = watches.watch("b", "x:1", [&] { updated += 100; });
        EXPECT_THAT(watches.wanted("a"), ElementsAre("x:1"));
        watches.updated("a", "x:1");
        EXPECT_EQ(updated, 11);
    }
    EXPECT_EQ(changed, 5);
    watches.updated("a", "x:2");
    watches.updated("a", "x:1");
    EXPECT_EQ(updated, 12);
    first.reset();
    EXPECT_THAT(watches.wanted("a"), IsEmpty());
    watches.updated("a", "x:1");
    EXPECT_EQ(updated, 12);
}

TEST(McpResourceWatches, AHandleMayOutliveThem) {
    std::optional<ResourceWatches> watches(std::in_place);
    const auto handle = watches->watch("a", "x:1", [] {});
    watches.reset();
}

}  // namespace
}  // namespace crab::mcp
