#include "adapters/mcp/upstreams/held_entries.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using Why = HeldBack::Why;

struct McpHeldEntries : testing::Test {
    HeldEntries held;
    std::optional<Why> read(const std::string& uri) const {
        return held.find("resources/read", R"({"uri":")" + uri + "\"}");
    }
    std::optional<Why> get(const std::string& name) const {
        return held.find("prompts/get", R"({"name":")" + name + "\"}");
    }
};

TEST_F(McpHeldEntries, WhatIsHeldBackIsNeitherReadNorGotNorCompleted) {
    held.hold(kResourcePin, "a:b", Why::kChanged);
    held.hold(kPromptPin, "p", Why::kNew);
    held.hold(kTemplatePin, "t:{x}", Why::kNew);
    EXPECT_EQ(read("a:b"), Why::kChanged);
    EXPECT_EQ(read("a:c"), std::nullopt) << "not listed: the upstream decides";
    EXPECT_EQ(get("p"), Why::kNew);
    EXPECT_EQ(get("q"), std::nullopt);
    const auto complete = [&](std::string_view ref) {
        return held.find("completion/complete", R"({"ref":)" + std::string(ref) + "}");
    };
    EXPECT_EQ(complete(R"({"type":"ref/prompt","name":"p"})"), Why::kNew);
    EXPECT_EQ(complete(R"({"type":"ref/resource","uri":"t:{x}"})"), Why::kNew);
    EXPECT_EQ(complete(R"({"type":"ref/resource","uri":"a:b"})"), Why::kChanged);
    EXPECT_EQ(complete(R"({"type":"ref/prompt","name":"q"})"), std::nullopt);
}

TEST_F(McpHeldEntries, AUriThatOnlyAHeldTemplateMakesIsHeldBack) {
    held.hold(kTemplatePin, "t:{x}", Why::kNew);
    EXPECT_EQ(read("t:1"), Why::kNew);
    held.offer_resource("t:2");
    EXPECT_EQ(read("t:2"), std::nullopt);
    held.offer_template("t:{y}");
    EXPECT_EQ(read("t:1"), std::nullopt);
}

TEST_F(McpHeldEntries, OfOneOfWhichNothingWasAcceptedNothingRuns) {
    held.hold_all(Why::kNew);
    EXPECT_EQ(read("any:thing"), Why::kNew);
    EXPECT_EQ(get("any"), Why::kNew);
    EXPECT_EQ(held.find("completion/complete", "{}"), Why::kNew);
}

}  // namespace
}  // namespace crab::mcp
