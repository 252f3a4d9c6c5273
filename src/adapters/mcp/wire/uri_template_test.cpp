#include "adapters/mcp/wire/uri_template.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

std::optional<std::size_t> match_template(std::string_view uri_template, std::string_view uri) {
    MatchBudget budget;
    return mcp::match_template(uri_template, uri, budget);
}

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

TEST(McpUriTemplate, PlacesAreReachedInEveryOrder) {
    EXPECT_EQ(match_template("{+a}/{b}/c", "x/y/z/c"), 3u);
    EXPECT_FALSE(match_template("{+a}/{b}/c", "x/c"));
    EXPECT_EQ(match_template("{a}a{b}", "aaaa"), 1u);
    EXPECT_EQ(match_template("{+a}ab{b}", "abab/abab"), 2u);
    EXPECT_FALSE(match_template("{a}/{b}", "a//b"));
}

// what a request may cost is counted over all templates, and many of them cost little each
TEST(McpUriTemplate, TheWorkOfARequestHasABound) {
    const std::string uri(8 << 10, 'a');
    std::string worst;
    for (int i = 0; i < 1000; ++i) worst += "{+x}aaaa";
    MatchBudget budget;
    EXPECT_FALSE(mcp::match_template(worst, uri, budget));
    EXPECT_TRUE(budget.used_up());
    EXPECT_FALSE(mcp::match_template("{a}", "a", budget));

    MatchBudget usual;
    for (int i = 0; i < 1000; ++i)
        mcp::match_template("github://repos/{owner}/{repo}/contents/" + std::to_string(i) + "/{p}",
                            "github://repos/anybody/anything/contents/1000/file", usual);
    EXPECT_FALSE(usual.used_up());
    MatchBudget others;
    for (int i = 0; i < 10'000; ++i) mcp::match_template("other://{a}/{b}", uri, others);
    EXPECT_GE(others.left(), MatchBudget::kSteps - 20'000);
}

}  // namespace
}  // namespace crab::mcp
