#include "adapters/mcp/wire/content.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;

std::string content(std::string_view block, Revision revision) {
    std::string out;
    append_content(out, block, revision);
    return out;
}

TEST(McpContent, WhatARevisionHasPassesAsItCame) {
    for (const std::string_view block :
         {R"({"type":"text","text":"a\u00e9\n","annotations":{"audience":["user"],)"
          R"("priority":0.50}})",
          R"({"type":"image","data":"QUJD","mimeType":"image/png","x":[1, 2]})",
          R"({"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"t"}})"}) {
        for (const Revision revision :
             {k2024_11_05, k2025_03_26, k2025_06_18, k2025_11_25, k2026_07_28})
            EXPECT_EQ(content(block, revision), block) << name_of(revision);
    }
    constexpr std::string_view kAll =
        R"({"type":"resource_link","uri":"a:b","name":"n","icons":[],"_meta":{"a":1},)"
        R"("annotations":{"lastModified":"2026-01-01T00:00:00Z"}})";
    EXPECT_EQ(content(kAll, k2025_11_25), kAll);
    EXPECT_EQ(content(kAll, k2026_07_28), kAll);
}

TEST(McpContent, AudioIsTextForTheRevisionWithoutIt) {
    constexpr std::string_view kAudio =
        R"({"type":"audio","data":"QUJDRA==","mimeType":"audio/wav"})";
    EXPECT_EQ(content(kAudio, k2025_03_26), kAudio);
    EXPECT_EQ(content(kAudio, k2024_11_05), R"({"type":"text","text":"[audio, audio/wav, 4 bytes: )"
                                            R"(this client's protocol version has no audio]"})");
    EXPECT_TRUE(content(R"({"type":"audio"})", k2024_11_05).contains("unknown type, 0 bytes"));
    EXPECT_TRUE(content(R"({"type":"audio","data":"="})", k2024_11_05).contains(" 0 bytes"));
}

TEST(McpContent, ALinkIsTextWithItsUriBeforeThereWereLinks) {
    constexpr std::string_view kLink =
        R"({"type":"resource_link","uri":"file:///a\"b","name":"a","title":"A \u00e9"})";
    EXPECT_EQ(content(kLink, k2025_06_18), kLink);
    for (const Revision old : {k2024_11_05, k2025_03_26})
        EXPECT_EQ(content(kLink, old),
                  "{\"type\":\"text\",\"text\":\"A \xc3\xa9: file:///a\\\"b\"}");
    EXPECT_EQ(content(R"({"type":"resource_link","uri":"a:b","name":"n"})", k2024_11_05),
              R"({"type":"text","text":"n: a:b"})");
}

TEST(McpContent, MembersThatARevisionLacksAreLeftOut) {
    constexpr std::string_view kText =
        R"({"type":"text","text":"a","_meta":{"a":1},"annotations":{"priority":1,)"
        R"("lastModified":"2026-01-01T00:00:00Z"}})";
    constexpr std::string_view kOld = R"({"type":"text","text":"a","annotations":{"priority":1}})";
    EXPECT_EQ(content(kText, k2024_11_05), kOld);
    EXPECT_EQ(content(kText, k2025_03_26), kOld);
    EXPECT_EQ(content(kText, k2025_06_18), kText);
    EXPECT_EQ(content(R"({"type":"resource","resource":{"uri":"a:b","text":"","_meta":{}}})",
                      k2025_03_26),
              R"({"type":"resource","resource":{"uri":"a:b","text":""}})");
    EXPECT_EQ(
        content(R"({"type":"resource_link","uri":"a:b","name":"n","icons":[{}]})", k2025_06_18),
        R"({"type":"resource_link","uri":"a:b","name":"n"})");
    EXPECT_EQ(content(R"({"type":"text","text":"a","_m\u0065ta":{}})", k2024_11_05),
              R"({"type":"text","text":"a"})")
        << "an escape hides no name";
}

}  // namespace
}  // namespace crab::mcp
