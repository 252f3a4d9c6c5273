#include "adapters/mcp/wire/sampling.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;

constexpr std::string_view kOne =
    R"({"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5})";

TEST(McpSampling, OneBlockIsUnwrappedForClientsThatKnowOnlyOne) {
    constexpr std::string_view kWrapped =
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"maxTokens":5})";
    EXPECT_EQ(sampling_params(kWrapped, k2025_06_18, false), kOne);
    EXPECT_EQ(sampling_params(kWrapped, k2025_11_25, false), kWrapped);
    EXPECT_EQ(sampling_params(kOne, k2024_11_05, false), kOne);
}

TEST(McpSampling, MoreBlocksAreRefusedThere) {
    constexpr std::string_view kTwo =
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
        R"({"type":"text","text":"b"}]}]})";
    EXPECT_EQ(sampling_params(kTwo, k2026_07_28, false), kTwo);
    EXPECT_EQ(sampling_params(kTwo, k2025_06_18, false).error().code, -32602);
    EXPECT_FALSE(
        sampling_params(R"({"messages":[{"role":"user","content":[]}]})", k2025_06_18, false));
}

TEST(McpSampling, ToolsNeedTheClientsWord) {
    constexpr std::string_view kTools = R"({"messages":[],"tools":[{"name":"t"}]})";
    EXPECT_EQ(sampling_params(kTools, k2025_11_25, true), kTools);
    EXPECT_EQ(sampling_params(kTools, k2025_11_25, false).error().code, -32602);
    EXPECT_FALSE(sampling_params(R"({"messages":[],"toolChoice":{}})", k2025_11_25, false));
}

}  // namespace
}  // namespace crab::mcp
