#include "adapters/mcp/wire/request_headers.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

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
    EXPECT_TRUE(check(std::nullopt, "tools/call", "{}")) << "the method refuses its params itself";
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

}  // namespace
}  // namespace crab::mcp
