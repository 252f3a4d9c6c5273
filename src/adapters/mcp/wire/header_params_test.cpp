#include "adapters/mcp/wire/header_params.hpp"

#include "json/parser.hpp"
#include "net/codec/http_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace crab::mcp {
namespace {

class McpHeaderParams : public testing::Test {
protected:
    std::expected<std::vector<HeaderParam>, std::string> declared(std::string_view schema) {
        return read_header_params(parser.parse(schema)->element());
    }
    /// Empty when the headers and the arguments agree.
    std::string check(std::string_view arguments, const HeaderLines& headers) {
        const auto find = [&](std::string_view name) -> std::optional<std::string_view> {
            for (const auto& [header, value] : headers) {
                if (equals_lower(header, lower(name))) return value;
            }
            return std::nullopt;
        };
        const auto checked = check_param_headers(*params, parser.parse(arguments)->element(), find);
        return checked ? "" : checked.error();
    }
    static std::string lower(std::string_view name) {
        std::string out(name);
        std::ranges::transform(out, out.begin(), to_lower);
        return out;
    }

    json::Parser parser;
    std::expected<std::vector<HeaderParam>, std::string> params = declared(
        R"({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "count":{"type":"integer","x-mcp-header":"Count"},
            "deep":{"type":"object","properties":{
                "dry":{"type":"boolean","x-mcp-header":"Dry-Run"}}},
            "other":{"type":"string"}}})");
};

TEST_F(McpHeaderParams, DeclarationsAreFoundThroughProperties) {
    ASSERT_TRUE(params);
    ASSERT_EQ(params->size(), 3U);
    EXPECT_EQ((*params)[0].name, "Region");
    EXPECT_EQ((*params)[1].type, HeaderParam::Type::kInteger);
    EXPECT_EQ((*params)[2].path, (std::vector<std::string>{"deep", "dry"}));
    EXPECT_TRUE(declared(R"({"type":"object"})")->empty());
    EXPECT_TRUE(declared("true")->empty());
}

TEST_F(McpHeaderParams, ASchemaThatBreaksTheRulesIsToldWithItsPlace) {
    const auto property = [](std::string_view schema) {
        return R"({"properties":{"a/b":)" + std::string(schema) + "}}";
    };
    for (const std::string& schema : {
             property(R"({"type":"string","x-mcp-header":""})"),
             property(R"({"type":"string","x-mcp-header":"a b"})"),
             property(R"({"type":"string","x-mcp-header":"a:b"})"),
             property(R"({"type":"string","x-mcp-header":"caf\u00e9"})"),
             property(R"({"type":"string","x-mcp-header":7})"),
             property(R"({"type":"number","x-mcp-header":"A"})"),
             property(R"({"type":"object","x-mcp-header":"A"})"),
             property(R"({"type":["string","null"],"x-mcp-header":"A"})"),
             property(R"({"x-mcp-header":"A"})"),
         }) {
        const auto read = declared(schema);
        ASSERT_FALSE(read) << schema;
        EXPECT_TRUE(read.error().contains("'/a~1b'")) << read.error();
    }
    EXPECT_FALSE(declared(R"({"properties":{"a":{"type":"string","x-mcp-header":"Same"},
                                            "b":{"type":"string","x-mcp-header":"same"}}})"));
    EXPECT_FALSE(declared(R"({"type":"object","x-mcp-header":"Root"})"));
}

TEST_F(McpHeaderParams, OnlyPropertiesMayLeadToADeclaration) {
    constexpr std::string_view kDeclaration = R"({"type":"string","x-mcp-header":"A"})";
    const std::string with(kDeclaration);
    for (const std::string& schema : {
             R"({"properties":{"a":{"type":"array","items":)" + with + "}}}",
             R"({"properties":{"a":{"type":"array","items":[)" + with + "]}}}",
             R"({"properties":{"a":{"prefixItems":[)" + with + "]}}}",
             R"({"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":)" + with + "}}",
             R"({"definitions":{"x":)" + with + "}}",
             R"({"allOf":[{"properties":{"a":)" + with + "}}]}",
             R"({"anyOf":[{"properties":{"a":)" + with + "}}]}",
             R"({"if":{"properties":{"a":)" + with + "}}}",
             R"({"patternProperties":{"^a":)" + with + "}}",
             R"({"additionalProperties":)" + with + "}",
             R"({"dependentSchemas":{"a":{"properties":{"b":)" + with + "}}}}",
             R"({"not":)" + with + "}",
         })
        EXPECT_FALSE(declared(schema)) << schema;
}

TEST_F(McpHeaderParams, DataAndPropertiesOfThatNameDeclareNothing) {
    for (const std::string_view schema : {
             R"({"properties":{"x-mcp-header":{"type":"string"}}})",
             R"({"properties":{"a":{"enum":[{"x-mcp-header":7}]}}})",
             R"({"properties":{"a":{"default":{"x-mcp-header":""}}}})",
             R"({"examples":[{"x-mcp-header":"b c"}],"x-vendor":{"x-mcp-header":1}})",
         }) {
        const auto read = declared(schema);
        ASSERT_TRUE(read) << schema << read.error();
        EXPECT_TRUE(read->empty());
    }
}

TEST_F(McpHeaderParams, HeadersAreMadeOfTheValuesThatAreThere) {
    const auto make = [&](std::string_view arguments) {
        return make_param_headers(*params, parser.parse(arguments)->element());
    };
    EXPECT_EQ(make(R"({"region":"eu\u00e9","count":42.0,"deep":{"dry":true},"other":"x"})"),
              (HeaderLines{{"Mcp-Param-Region", "=?base64?ZXXDqQ==?="},
                           {"Mcp-Param-Count", "42"},
                           {"Mcp-Param-Dry-Run", "true"}}));
    EXPECT_EQ(make(R"({"region":null,"deep":{}})"), HeaderLines{});
    EXPECT_EQ(make(R"({"deep":7})"), HeaderLines{});
    EXPECT_EQ(make_param_headers(*params, std::nullopt), HeaderLines{});
}

TEST_F(McpHeaderParams, HeadersHaveToSayWhatTheArgumentsSay) {
    constexpr std::string_view kArguments = R"({"region":"eu","count":42})";
    EXPECT_EQ(check(kArguments, {{"Mcp-Param-Region", "eu"}, {"Mcp-Param-Count", "42"}}), "");
    EXPECT_EQ(check(kArguments, {{"mcp-param-REGION", " eu "}, {"MCP-PARAM-COUNT", "42.0"}}), "")
        << "names have no case, blanks around values do not count, numbers are numbers";
    EXPECT_EQ(
        check(kArguments, {{"Mcp-Param-Region", "=?base64?ZXU=?="}, {"Mcp-Param-Count", "42"}}),
        "");
    EXPECT_EQ(check(kArguments, {{"Mcp-Param-Count", "42"}}), "header Mcp-Param-Region is missing");
    EXPECT_EQ(check(kArguments, {{"Mcp-Param-Region", "us"}, {"Mcp-Param-Count", "42"}}),
              "header Mcp-Param-Region is not what the arguments say");
    EXPECT_EQ(check(kArguments, {{"Mcp-Param-Region", "EU"}, {"Mcp-Param-Count", "42"}}),
              "header Mcp-Param-Region is not what the arguments say");
    EXPECT_EQ(check(kArguments, {{"Mcp-Param-Region", "=?base64?Z?="}, {"Mcp-Param-Count", "42"}}),
              "header Mcp-Param-Region is malformed");
}

TEST_F(McpHeaderParams, NullAndAbsentNeedNoHeaderAndMayHaveNone) {
    EXPECT_EQ(check(R"({"region":null})", {}), "");
    EXPECT_EQ(check("{}", {{"Mcp-Param-Unknown", "\x01"}}), "") << "undeclared ones are ignored";
    EXPECT_EQ(check(R"({"region":null})", {{"Mcp-Param-Region", "null"}}),
              "header Mcp-Param-Region has no value in the arguments");
    EXPECT_EQ(check("{}", {{"Mcp-Param-Region", ""}}),
              "header Mcp-Param-Region has no value in the arguments");
}

}  // namespace
}  // namespace crab::mcp
