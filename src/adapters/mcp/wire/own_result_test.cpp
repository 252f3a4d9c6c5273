#include "adapters/mcp/wire/own_result.hpp"

#include "adapters/mcp/wire/result.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

TEST(McpOwnResult, TextIsATextBlock) {
    EXPECT_EQ(text_result("a\n\"b\""), R"({"content":[{"type":"text","text":"a\n\"b\""}]})");
}

TEST(McpOwnResult, JsonIsStructuredAndText) {
    EXPECT_EQ(
        json_result(R"({"a": 1.0})"),
        R"({"content":[{"type":"text","text":"{\"a\":1.0}"}],"structuredContent":{"a": 1.0}})");
    std::string legacy, modern;
    append_call_result(legacy, json_result("[1]"), {.revision = Revision::k2025_11_25});
    append_call_result(modern, json_result("[1]"), {});
    EXPECT_EQ(legacy, R"({"content":[{"type":"text","text":"[1]"}]})");
    EXPECT_EQ(modern, R"({"content":[{"type":"text","text":"[1]"}],"structuredContent":[1],)"
                      R"("resultType":"complete"})");
}

TEST(McpOwnResult, BytesAreWhatTheirTypeSays) {
    EXPECT_EQ(bytes_result("ABC", "image/png", "c1"),
              R"({"content":[{"type":"image","data":"QUJD","mimeType":"image/png"}]})");
    EXPECT_EQ(bytes_result("ABC", "audio/wav", "c1"),
              R"({"content":[{"type":"audio","data":"QUJD","mimeType":"audio/wav"}]})");
    EXPECT_EQ(bytes_result("ABC", "application/pdf", "c1"),
              R"({"content":[{"type":"resource","resource":{"uri":"crab://call/c1/result",)"
              R"("mimeType":"application/pdf","blob":"QUJD"}}]})");
}

TEST(McpOwnResult, AnArtifactIsALinkAndALine) {
    const std::string result = artifact_result(
        {.id = "a1", .name = "report.pdf", .media_type = "application/pdf", .size = 70'000});
    EXPECT_TRUE(result.starts_with(
        R"({"content":[{"type":"resource_link","uri":"crab://artifact/a1","name":"report.pdf",)"
        R"("mimeType":"application/pdf","size":70000},{"type":"text","text":"The result, 70000)"))
        << result;
}

TEST(McpOwnResult, APhotoInJsonIsAnImage) {
    EXPECT_EQ(media_result(R"({"mime_type":"image/jpeg","width":2,"data_base64":"aGk="})"),
              R"({"content":[{"type":"image","data":"aGk=","mimeType":"image/jpeg"},)"
              R"({"type":"text","text":"{\"mime_type\":\"image/jpeg\",\"width\":2}"}],)"
              R"("structuredContent":{"mime_type":"image/jpeg","width":2}})");
    for (const char* const other :
         {R"({"mime_type":"image/jpeg"})", R"({"mime_type":"text/plain","data_base64":"aGk="})",
          R"({"mime_type":"audio/ogg","data_base64":7})", R"(["data_base64"])"})
        EXPECT_FALSE(media_result(other)) << other;
}

}  // namespace
}  // namespace crab::mcp
