#include "adapters/mcp/wire/capabilities.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;

constexpr Ask kAll{.elicitation = true, .sampling = true, .roots = true};

std::string passed_on(std::string_view client, Revision upstream, const Ask& ask = kAll) {
    return upstream_capabilities(read_client_capabilities(client), ask, upstream);
}

TEST(McpCapabilities, TheGatewayDeclaresTheSameToEveryClientOfARevision) {
    constexpr std::string_view kLists =
        R"({"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},)"
        R"("prompts":{"listChanged":true},"logging":{})";
    EXPECT_EQ(server_capabilities(k2024_11_05, true), std::string(kLists) + "}");
    EXPECT_EQ(server_capabilities(k2025_11_25, true),
              std::string(kLists) + R"(,"completions":{}})");
    EXPECT_EQ(server_capabilities(k2026_07_28, false),
              std::string(kLists) +
                  R"(,"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})");
    EXPECT_TRUE(server_capabilities(k2026_07_28, true).contains("io.modelcontextprotocol/ui"));
}

TEST(McpCapabilities, AnElicitationThatSaysNothingMoreIsAForm) {
    EXPECT_TRUE(read_client_capabilities(R"({"elicitation":{}})").form);
    EXPECT_FALSE(read_client_capabilities(R"({"elicitation":{}})").url);
    EXPECT_FALSE(read_client_capabilities(R"({"elicitation":{"url":{}}})").form);
    const auto both = read_client_capabilities(R"({"elicitation":{"url":{},"form":{}}})");
    EXPECT_TRUE(both.form && both.url);
    EXPECT_EQ(read_client_capabilities(""), ClientCapabilities{});
    EXPECT_EQ(read_client_capabilities(R"({"elicitation":true,"sampling":[],"roots":1})"),
              ClientCapabilities{});
}

TEST(McpCapabilities, AnUpstreamHearsWhatTheClientHasInItsOwnWords) {
    constexpr std::string_view kClient =
        R"({"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},)"
        R"("roots":{"listChanged":true},"experimental":{"x":{}},)"
        R"("extensions":{"io.modelcontextprotocol/tasks":{},"other":{}}})";
    EXPECT_EQ(passed_on(kClient, k2024_11_05), R"({"sampling":{},"roots":{"listChanged":true}})");
    EXPECT_EQ(passed_on(kClient, k2025_06_18),
              R"({"elicitation":{},"sampling":{},"roots":{"listChanged":true}})");
    EXPECT_EQ(passed_on(kClient, k2025_11_25),
              R"({"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},)"
              R"("roots":{"listChanged":true}})");
    EXPECT_EQ(passed_on(kClient, k2026_07_28),
              R"({"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},)"
              R"("roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})");
}

TEST(McpCapabilities, NothingIsDeclaredThatIsNotAllowedOrCannotBeAnswered) {
    constexpr std::string_view kClient = R"({"elicitation":{"url":{}},"sampling":{},"roots":{}})";
    EXPECT_EQ(passed_on(kClient, k2025_11_25, Ask{}), R"({"elicitation":{"url":{}}})");
    EXPECT_EQ(passed_on(kClient, k2025_06_18, Ask{}), "{}") << "it would ask with forms";
    EXPECT_EQ(passed_on(kClient, k2026_07_28, {.elicitation = false}), "{}");
    EXPECT_EQ(passed_on("{}", k2026_07_28), "{}");
}

}  // namespace
}  // namespace crab::mcp
