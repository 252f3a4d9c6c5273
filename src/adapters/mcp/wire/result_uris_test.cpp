#include "adapters/mcp/wire/result_uris.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

std::string marked(const std::string& uri) { return "m:" + uri; }

TEST(McpResultUris, OfReadsAreThoseOfContents) {
    EXPECT_EQ(map_read_uris(R"({"contents":[{"uri":"a:1","text":"uri"},{"text":"t"}],"uri":"x"})",
                            marked),
              R"({"contents":[{"uri":"m:a:1","text":"uri"},{"text":"t"}],"uri":"x"})");
    EXPECT_EQ(map_read_uris(R"({"contents":7})", marked), R"({"contents":7})");
}

TEST(McpResultUris, OfContentAreThoseOfLinksAndEmbeddedResources) {
    EXPECT_EQ(map_call_uris(R"({"content":[{"type":"text","uri":"a"},)"
                            R"({"type":"resource_link","uri":"b"},)"
                            R"({"type":"resource","resource":{"uri":"c","text":""}}]})",
                            marked),
              R"({"content":[{"type":"text","uri":"a"},)"
              R"({"type":"resource_link","uri":"m:b"},)"
              R"({"type":"resource","resource":{"uri":"m:c","text":""}}]})");
    EXPECT_EQ(map_prompt_uris(R"({"messages":[{"role":"user","content":)"
                              R"({"type":"resource_link","uri":"b"}}]})",
                              marked),
              R"({"messages":[{"role":"user","content":{"type":"resource_link","uri":"m:b"}}]})");
}

TEST(McpResultUris, OfToolsAreThoseOfTheirPages) {
    EXPECT_EQ(
        map_tool_uris(R"({"name":"t","_meta":{"a":1,"ui":{"resourceUri":"ui:\/\/x",)"
                      R"("visibility":["app"]},"ui/resourceUri":"y"},"ui":{"resourceUri":1}})",
                      marked),
        R"({"name":"t","_meta":{"a":1,"ui":{"resourceUri":"m:ui://x",)"
        R"("visibility":["app"]},"ui/resourceUri":"m:y"},"ui":{"resourceUri":1}})");
    for (const char* odd : {R"({"_meta":7})", R"({"_meta":{"ui":[{"resourceUri":"x"}]}})",
                            R"({"_meta":{"ui":{"resourceUri":7}}})", R"({"name":"t"})"})
        EXPECT_EQ(map_tool_uris(odd, marked), odd);
}

}  // namespace
}  // namespace crab::mcp
