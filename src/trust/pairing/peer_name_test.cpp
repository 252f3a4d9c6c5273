#include "trust/pairing/peer_name.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

TEST(PeerNameTest, IdsBeginWithALetterOrDigitAndAreShort) {
    for (const std::string_view id : {"a", "7", "Memory-1.east_b"})
        EXPECT_TRUE(is_component_id(id)) << id;
    for (const std::string_view id :
         {"", ".a", "_a", "-a", "a b", "a/b", "\xc3\xa9", "mem <east>&1"})
        EXPECT_FALSE(is_component_id(id)) << id;
    EXPECT_TRUE(is_component_id(std::string(64, 'a')));
    EXPECT_FALSE(is_component_id(std::string(65, 'a')));
    EXPECT_TRUE(is_gateway_id(std::string(48, 'a')));
    EXPECT_FALSE(is_gateway_id(std::string(49, 'a')));
}

TEST(PeerNameTest, UrisNamePeersAndReadBack) {
    const PeerName name{ComponentType::kSubscriber, "log"};
    EXPECT_EQ(name.text(), "subscriber/log");
    EXPECT_EQ(name.uri(), "crab://peer/subscriber/log");
    EXPECT_EQ(PeerName::from_uri(name.uri()), name);
    EXPECT_EQ(gateway_uri("home"), "crab://gateway/home");
    for (const std::string_view uri :
         {"", "crab://peer/subscriber", "crab://peer/gateway/log", "crab://peer/subscriber/",
          "crab://peer/subscriber/a/b", "crab://gateway/home", "CRAB://peer/subscriber/log",
          "crab://peer/subscriber/log#"}) {
        EXPECT_FALSE(PeerName::from_uri(uri)) << uri;
    }
}

TEST(PeerNameTest, PeopleMaySayTypesInTheirWords) {
    for (const std::string_view text : {"tool", "tool_host", "Tool-Host", "  TOOL\n"})
        EXPECT_EQ(parse_component_type(text), ComponentType::kToolHost) << text;
    EXPECT_EQ(parse_component_type("cli"), ComponentType::kOperator);
    EXPECT_EQ(parse_component_type("Operator"), ComponentType::kOperator);
    EXPECT_EQ(parse_component_type("listener"), ComponentType::kListener);
    for (const std::string_view text : {"", " ", "gateway", "tool host"})
        EXPECT_FALSE(parse_component_type(text)) << text;
    EXPECT_FALSE(find_component_type("Tool_host"));
}

}  // namespace
}  // namespace crab::trust
