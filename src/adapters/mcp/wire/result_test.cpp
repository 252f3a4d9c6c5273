#include "adapters/mcp/wire/result.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;
using namespace std::chrono_literals;

constexpr std::string_view kServer = R"({"name":"crab","version":"1"})";

std::string call(std::string_view result, Revision revision) {
    std::string out;
    append_call_result(out, result, {.revision = revision});
    return out;
}

TEST(McpResult, ModernResultsSayTheirTypeAndTheirServerAndLegacyOnesDoNot) {
    constexpr std::string_view kResult =
        R"({"completion":{"values":[]},"resultType":"odd","ttlMs":1,"cacheScope":"public"})";
    std::string modern, legacy;
    append_plain_result(modern, kResult, {.server_info = kServer});
    append_plain_result(legacy, kResult, {.revision = k2025_11_25, .server_info = kServer});
    EXPECT_EQ(modern, R"({"completion":{"values":[]},"resultType":"complete",)"
                      R"("_meta":{"io.modelcontextprotocol/serverInfo":)" +
                          std::string(kServer) + "}}");
    EXPECT_EQ(legacy, R"({"completion":{"values":[]}})");
}

TEST(McpResult, HintsArePrivateAndOnlyModern) {
    std::string modern, legacy;
    append_plain_result(modern, R"({"tools":[]})", {.ttl = 10s});
    append_plain_result(legacy, R"({"tools":[]})", {.revision = k2024_11_05, .ttl = 10s});
    EXPECT_EQ(modern,
              R"({"tools":[],"resultType":"complete","ttlMs":10000,"cacheScope":"private"})");
    EXPECT_EQ(legacy, R"({"tools":[]})");
}

TEST(McpResult, MetaIsMergedAndTheOtherServersIdentityIsNotPassedOn) {
    std::string out;
    append_plain_result(out,
                        R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"other"},)"
                        R"("a":1,"crab/call":{"id":"theirs"}},"tools":[]})",
                        {.server_info = kServer, .meta = R"({"crab/call":{"id":"c1"}})"});
    EXPECT_EQ(out, R"({"tools":[],"resultType":"complete","_meta":{"a":1,"crab/call":{"id":"c1"},)"
                   R"("io.modelcontextprotocol/serverInfo":)" +
                       std::string(kServer) + "}}");
}

TEST(McpResult, AllKindsOfContentPassUnchanged) {
    constexpr std::string_view kResult =
        R"({"content":[{"type":"text","text":"a"},)"
        R"({"type":"image","data":"QQ==","mimeType":"image/png"},)"
        R"({"type":"audio","data":"QQ==","mimeType":"audio/wav"},)"
        R"({"type":"resource","resource":{"uri":"a:b","blob":"QQ=="}},)"
        R"({"type":"resource_link","uri":"a:b","name":"n"}],"isError":false,"x":1.50})";
    EXPECT_EQ(call(kResult, k2025_11_25), kResult);
    EXPECT_EQ(call(kResult, k2025_06_18), kResult);
}

TEST(McpResult, MembersMadeHereGetTheFormToo) {
    const auto written = [](std::string_view members, const ResultForm& form) {
        std::string out;
        end_own_result((out += '{') += members, form);
        return out;
    };
    EXPECT_EQ(written(R"("tools":[])", {.revision = Revision::k2025_11_25}), R"({"tools":[]})");
    EXPECT_EQ(written({}, {.revision = Revision::k2025_11_25}), "{}");
    EXPECT_EQ(written(R"("tools":[])", {.meta = R"({"m":1})", .ttl = Milliseconds(5)}),
              R"({"tools":[],"resultType":"complete","ttlMs":5,"cacheScope":"private",)"
              R"("_meta":{"m":1}})");
}

TEST(McpResult, ATextAndWhatItStandsForAreWrittenInTheirForm) {
    const auto written = [](std::string_view structured, const ResultForm& form) {
        std::string out;
        append_text_result(out, "a\n\"b\"", structured, form);
        return out;
    };
    const std::string text = R"({"content":[{"type":"text","text":"a\n\"b\""}])";
    EXPECT_EQ(written({}, {.revision = Revision::k2025_11_25}), text + "}");
    EXPECT_EQ(written(R"({"a": 1})", {.revision = Revision::k2025_11_25}),
              text + R"(,"structuredContent":{"a": 1}})");
    EXPECT_EQ(written("[1]", {.revision = Revision::k2025_11_25}), text + "}");
    EXPECT_EQ(written("{}", {.revision = Revision::k2025_03_26}), text + "}");
    EXPECT_EQ(
        written("[1]", {.server_info = R"({"name":"n"})", .meta = R"({"crab/call":{"id":"c"}})"}),
        text +
            R"(,"structuredContent":[1],"resultType":"complete","_meta":{"crab/call":{"id":"c"},)"
            R"("io.modelcontextprotocol/serverInfo":{"name":"n"}}})");
}

TEST(McpResult, ABareStructuredResultGetsItsText) {
    EXPECT_EQ(call(R"({"structuredContent":{"a": [1.50, "x y"]}})", k2025_11_25),
              R"({"content":[{"type":"text","text":"{\"a\":[1.50,\"x y\"]}"}],)"
              R"("structuredContent":{"a": [1.50, "x y"]}})");
    EXPECT_EQ(call(R"({"content":[],"structuredContent":{"a":1}})", k2025_03_26),
              R"({"content":[{"type":"text","text":"{\"a\":1}"}]})")
        << "and it is all that an older client gets";
    constexpr std::string_view kImage = R"({"type":"image","data":"","mimeType":"image/png"})";
    EXPECT_EQ(
        call(R"({"content":[)" + std::string(kImage) + R"(],"structuredContent":{}})", k2025_06_18),
        R"({"content":[)" + std::string(kImage) +
            R"(,{"type":"text","text":"{}"}],"structuredContent":{}})");
    EXPECT_EQ(
        call(R"({"content":[{"type":"text","text":"t"}],"structuredContent":{}})", k2025_06_18),
        R"({"content":[{"type":"text","text":"t"}],"structuredContent":{}})");
}

TEST(McpResult, StructuredContentThatIsNoObjectIsForModernClientsOnly) {
    for (const std::string_view value : {"[1,2]", "\"text\"", "42", "null", "true"}) {
        const std::string result =
            R"({"content":[{"type":"text","text":"t"}],"structuredContent":)" + std::string(value) +
            "}";
        constexpr std::string_view kBare = R"({"content":[{"type":"text","text":"t"}]})";
        EXPECT_EQ(call(result, k2025_11_25), kBare);
        EXPECT_EQ(call(result, k2025_06_18), kBare);
        EXPECT_EQ(call(result, k2024_11_05), kBare);
        EXPECT_TRUE(
            call(result, k2026_07_28).contains(R"("structuredContent":)" + std::string(value)));
    }
}

TEST(McpResult, AudioAndLinksBecomeTextWhereTheyAreUnknown) {
    const std::string old =
        call(R"({"content":[{"type":"audio","data":"QQ==","mimeType":"audio/wav"},)"
             R"({"type":"resource_link","uri":"a:b","name":"n"}]})",
             k2024_11_05);
    EXPECT_TRUE(old.contains("[audio, audio/wav, 1 bytes")) << old;
    EXPECT_TRUE(old.contains(R"({"type":"text","text":"n: a:b"})")) << old;
}

TEST(McpResult, PromptsAndReadsAreMappedItemByItem) {
    std::string prompt, read;
    append_prompt_result(
        prompt,
        R"({"description":"d","messages":[{"role":"user","content":{"type":"text","text":"a",)"
        R"("_meta":{}}},{"role":"assistant","content":{"type":"resource_link","uri":"a:b",)"
        R"("name":"n"}}]})",
        {.revision = k2025_03_26});
    EXPECT_EQ(prompt,
              R"({"description":"d","messages":[{"role":"user","content":{"type":"text",)"
              R"("text":"a"}},{"role":"assistant","content":{"type":"text","text":"n: a:b"}}]})");
    append_read_result(read,
                       R"({"contents":[{"uri":"a:b","text":"t","_meta":{"ui":1}}],"ttlMs":5})",
                       {.revision = k2025_03_26, .ttl = 0ms});
    EXPECT_EQ(read, R"({"contents":[{"uri":"a:b","text":"t"}]})");
    read.clear();
    append_read_result(read, R"({"contents":[{"uri":"a:b","text":"t"}],"ttlMs":5})", {.ttl = 0ms});
    EXPECT_EQ(read, R"({"contents":[{"uri":"a:b","text":"t"}],"resultType":"complete","ttlMs":0,)"
                    R"("cacheScope":"private"})");
}

TEST(McpResult, AnUpstreamsResultIsKeptWithoutItsFrame) {
    EXPECT_EQ(
        core_result(R"({"resultType":"complete","content":[ ],"_meta":{"a":1},"isError":true})"),
        R"({"content":[ ],"isError":true})");
    EXPECT_EQ(result_type(R"({"content":[]})"), "complete");
    EXPECT_EQ(result_type(R"({"resultType":"input_required"})"), "input_required");
    EXPECT_EQ(result_type(R"({"resultType":7})"), std::nullopt);
    EXPECT_TRUE(is_error_result(R"({"isError":true})"));
    EXPECT_FALSE(is_error_result(R"({"isError":"true"})"));
    EXPECT_EQ(first_text(R"({"content":[{"type":"image"},{"type":"text","text":"a\nb"}]})"),
              "a\nb");
    EXPECT_EQ(first_text("{}"), "");
}

}  // namespace
}  // namespace crab::mcp
