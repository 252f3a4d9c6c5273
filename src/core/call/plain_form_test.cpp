#include "core/call/plain_form.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

ToolResult blocks(std::string content) {
    ToolResult result;
    result.kind = ContentKind::kJson;
    result.content = std::move(content);
    result.content_type = kBlocksType;
    result.logs = {"a line"};
    return result;
}

TEST(PlainForm, StructuredContentComesFirst) {
    const auto plain = plain_form(
        blocks(R"({"content":[{"type":"text","text":"one"}],"structuredContent":{ "n": 1.50 }})"));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->kind, ContentKind::kJson);
    EXPECT_EQ(plain->content, R"({"n":1.50})");
    EXPECT_EQ(plain->content_type, "");
    EXPECT_EQ(plain->logs.size(), 1U);
}

TEST(PlainForm, ElseItIsTheTextOfTheBlocks) {
    const auto plain = plain_form(blocks(
        R"({"content":[{"type":"text","text":"a\"b"},{"type":"image","data":"","mimeType":"i/p"},)"
        R"({"type":"text","text":"c"}]})"));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->kind, ContentKind::kText);
    EXPECT_EQ(plain->content, "a\"b\nc");
}

TEST(PlainForm, ElseItIsTheObject) {
    const std::string object = R"({"content":[{"type":"image","data":"","mimeType":"i/p"}]})";
    const auto plain = plain_form(blocks(object));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->kind, ContentKind::kJson);
    EXPECT_EQ(plain->content, object);
}

TEST(PlainForm, OtherResultsAreAsTheyAre) {
    ToolResult own = blocks(R"({"structuredContent":1})");
    own.content_type.clear();
    EXPECT_FALSE(plain_form(own));
    own.kind = ContentKind::kBytes;
    own.content_type = kBlocksType;
    EXPECT_FALSE(plain_form(own));
}

}  // namespace
}  // namespace crab::core
