#include "adapters/mcp/wire/catalogs.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

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
    auto first = watches.watch("a", "x:1", "caller/ann", [&] { ++updated; });
    {
        const auto second = watches.watch("a", "x:1", "caller/ann", [&] { updated += 10; });
        const auto other = watches.watch("b", "x:1", "caller/ann", [&] { updated += 100; });
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

TEST(McpResourceWatches, OnePrincipalDoesNotTakeThePlacesOfOthers) {
    ResourceWatches watches;
    std::vector<std::optional<ResourceWatches::Handle>> held;
    const auto watch = [&](std::string_view who, const std::string& uri) {
        auto handle = watches.watch("a", uri, "caller/" + std::string(who), [] {});
        if (handle) held.push_back(std::move(handle));
        return held.size();
    };
    for (int i = 0; i < 300; ++i) watch("greedy", fmt::format("g:{}", i));
    EXPECT_EQ(held.size(), 192U);
    for (int i = 0; i < 300; ++i) watch("ann", fmt::format("a:{}", i));
    EXPECT_EQ(held.size(), 192U + 16) << "of the last places each gets a few";
    EXPECT_EQ(watch("ann", "g:7"), 192U + 17) << "what is watched anyway needs no place";
    for (int i = 0; i < 300; ++i) watch("p" + std::to_string(i), fmt::format("p:{}", i));
    EXPECT_EQ(watches.wanted("a").size(), 256U);
    EXPECT_EQ(held.size(), 257U);
    EXPECT_TRUE(watches.watch("b", "x:1", "caller/greedy", [] {})) << "of another source";
    held[0].reset();
    EXPECT_TRUE(watches.watch("a", "n:1", "caller/new", [] {}));
    held.clear();
    EXPECT_THAT(watches.wanted("a"), IsEmpty());
    EXPECT_TRUE(watches.watch("a", "g:1", "caller/greedy", [] {}));
}

TEST(McpResourceWatches, AHandleMayOutliveThem) {
    std::optional<ResourceWatches> watches(std::in_place);
    const auto handle = watches->watch("a", "x:1", "caller/ann", [] {});
    watches.reset();
}

}  // namespace
}  // namespace crab::mcp
