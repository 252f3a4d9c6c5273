#include "adapters/mcp/wire/request_headers.hpp"

#include "base/ascii.hpp"
#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::mcp {
namespace {

TEST(McpRequestHeaders, TheMethodIsNeededInItsCase) {
    EXPECT_TRUE(check_method_header("tools/call", "tools/call"));
    EXPECT_TRUE(check_method_header("\ttools/call ", "tools/call"));
    EXPECT_FALSE(check_method_header(std::nullopt, "tools/call"));
    EXPECT_FALSE(check_method_header("Tools/Call", "tools/call"));
    EXPECT_FALSE(check_method_header("tools/list", "tools/call"));
    EXPECT_FALSE(check_method_header("", "tools/call"));
}

TEST(McpRequestHeaders, TheNameIsNeededWhereTheMethodHasOne) {
    json::Parser parser;
    const auto check = [&](std::optional<std::string_view> header, std::string_view method,
                           std::string_view params) {
        return check_name_header(header, method, parser.parse(params)->element()).has_value();
    };
    constexpr std::string_view kCall = R"({"name":"get_weather"})";
    EXPECT_TRUE(check("get_weather", "tools/call", kCall));
    EXPECT_FALSE(check(std::nullopt, "tools/call", kCall));
    EXPECT_FALSE(check("get_time", "tools/call", kCall));
    EXPECT_FALSE(check("Get_weather", "tools/call", kCall));
    EXPECT_TRUE(check("greet", "prompts/get", R"({"name":"greet"})"));
    EXPECT_FALSE(check("a:b", "resources/read", R"({"uri":"a:c"})"));
    EXPECT_FALSE(check("t1", "tasks/update", R"({"taskId":"t2"})"));
    EXPECT_TRUE(check(std::nullopt, "tools/list", "{}"));
    EXPECT_FALSE(check(std::nullopt, "tools/call", "{}")) << "before what the params lack";
    EXPECT_FALSE(check(std::nullopt, "tools/call", R"({"name":7})"));
    EXPECT_FALSE(check("get_weather", "tools/call", "{}")) << "not what the body says";
    EXPECT_FALSE(check_name_header(std::nullopt, "resources/read", std::nullopt));
    EXPECT_TRUE(check_name_header(std::nullopt, "tools/list", std::nullopt));
}

TEST(McpRequestHeaders, AnEncodedNameIsDecoded) {
    json::Parser parser;
    const auto params = parser.parse(R"({"name":"caf\u00e9"})")->element();
    EXPECT_TRUE(check_name_header("=?base64?Y2Fmw6k=?=", "tools/call", params));
    EXPECT_FALSE(check_name_header("=?base64?Y2Fmw6k?=", "tools/call", params)) << "no padding";
    EXPECT_FALSE(check_name_header("=?base64?Y2Fmw6k*?=", "tools/call", params)) << "bad alphabet";
    EXPECT_FALSE(check_name_header("=?base64?Y2Fmw6k=", "tools/call", params)) << "literal";
    EXPECT_FALSE(check_name_header("caf\xc3\xa9", "tools/call", params)) << "no bytes of a value";
}

PostFields fields_of(std::string_view fields) {
    static std::string head;  // what they view
    static net::RequestHead parsed;
    head = "POST /mcp HTTP/1.1\r\nHost: here\r\n" + std::string(fields) + "\r\n";
    EXPECT_EQ(net::parse_request_head(head, parsed, {}).kind, net::HeadOutcome::Kind::kComplete);
    return PostFields::read(parsed.headers);
}

TEST(McpRequestHeaders, TheFieldsAreFoundWhateverTheirCase) {
    const PostFields found = fields_of(
        "ACCEPT: a\r\nContent-type: b\r\nmcp-session-id: c\r\nMCP-Protocol-Version: d\r\n"
        "Mcp-Method: e\r\nMCP-NAME: f\r\nMcp-Param-Room: g\r\nAccept: h\r\n");
    EXPECT_EQ(found.accept, "a") << "the first";
    EXPECT_EQ(found.content_type, "b");
    EXPECT_EQ(found.session, "c");
    EXPECT_EQ(found.version, "d");
    EXPECT_EQ(found.method, "e");
    EXPECT_EQ(found.name, "f");
    EXPECT_EQ(found.twice, "") << "other fields may be there as often as they like";
    EXPECT_EQ(fields_of("").version, std::nullopt);
}

TEST(McpRequestHeaders, AFieldOfMcpIsThereOnce) {
    for (const std::string_view name :
         {"Mcp-Name", "mcp-method", "MCP-Protocol-Version", "Mcp-Param-Room", "mcp-other"}) {
        const std::string once = std::string(name) + ": a\r\n";
        EXPECT_TRUE(check_fields_once(fields_of(once))) << name;
        EXPECT_FALSE(check_fields_once(fields_of(once + "Date: b\r\n" + lower_case(once)))) << name;
    }
    EXPECT_TRUE(check_fields_once(fields_of("Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n")));
}

}  // namespace
}  // namespace crab::mcp
