#include "adapters/mcp/wire/uri_template.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

TEST(McpUriTemplate, AnExpressionStandsForOneSegment) {
    EXPECT_EQ(match_template("t://a/{id}/data", "t://a/12/data"), 11u);
    EXPECT_FALSE(match_template("t://a/{id}/data", "t://a//data"));
    EXPECT_FALSE(match_template("t://a/{id}/data", "t://a/1/2/data"));
    EXPECT_FALSE(match_template("t://a/{id}/data", "t://a/12/dat"));
    EXPECT_EQ(match_template("t://{a}.{b}", "t://x.y.z"), 5u);
    EXPECT_EQ(match_template("t://plain", "t://plain"), 9u);
}

TEST(McpUriTemplate, AnOperatorStandsForAnything) {
    EXPECT_EQ(match_template("file:///{+path}", "file:///a/b/c"), 8u);
    EXPECT_EQ(match_template("t://a{?q,r}", "t://a"), 5u);
    EXPECT_EQ(match_template("t://a{?q,r}", "t://a?q=1"), 5u);
}

TEST(McpUriTemplate, ABrokenOneMatchesNothing) {
    EXPECT_FALSE(match_template("t://{a", "t://x"));
    EXPECT_FALSE(match_template("t://{}", "t://x"));
    const std::string many(200, 'a');
    EXPECT_FALSE(match_template("{a}{b}{c}{d}{e}!", many));
}

}  // namespace
}  // namespace crab::mcp
