#include "adapters/mcp/wire/header_value.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::string_literals;

TEST(McpHeaderValue, PlainTextStaysAsItIsAndAllElseIsEncoded) {
    for (const std::string& text : {"get_weather"s, "a b\tc"s, ""s, "=?base64?"s,
                                    "x=?base64?QQ=?="s, "=?BASE64?QQ==?="s, "=?base64?="s})
        EXPECT_EQ(encode_header_value(text), text);
    EXPECT_EQ(encode_header_value("caf\xc3\xa9"), "=?base64?Y2Fmw6k=?=");
    EXPECT_EQ(encode_header_value(" a"), "=?base64?IGE=?=");
    EXPECT_EQ(encode_header_value("a\t"), "=?base64?YQk=?=");
    EXPECT_EQ(encode_header_value("a\r\nX-Evil: 1"), "=?base64?YQ0KWC1FdmlsOiAx?=");
    EXPECT_EQ(encode_header_value("=?base64?QQ==?="), "=?base64?PT9iYXNlNjQ/UVE9PT89?=");
    EXPECT_EQ(encode_header_value("\x7f"), "=?base64?fw==?=");
}

TEST(McpHeaderValue, WhateverWasEncodedIsDecoded) {
    for (const std::string& text :
         {""s, " "s, "a"s, "caf\xc3\xa9"s, "\n"s, "\0"s, "=?base64?\?="s, "\xf0\x9f\xa6\x80 crab"s})
        EXPECT_EQ(decode_header_value(encode_header_value(text)), text);
    EXPECT_EQ(decode_header_value("=?base64?\?="), "");
}

TEST(McpHeaderValue, BlanksAroundAValueAreNotPartOfIt) {
    EXPECT_EQ(decode_header_value("  tools/call \t"), "tools/call");
    EXPECT_EQ(decode_header_value(" =?base64?Y2Fmw6k=?= "), "caf\xc3\xa9");
}

TEST(McpHeaderValue, HalfAMarkerIsLiteral) {
    for (const std::string_view text :
         {"=?base64?Y2Fmw6k=", "Y2Fmw6k=?=", "=?Base64?Y2Fmw6k=?=", "?base64?QQ==?=", "=?base64?="})
        EXPECT_EQ(decode_header_value(text), text);
}

TEST(McpHeaderValue, BadBase64AndBytesThatNoValueHasAreMalformed) {
    for (const std::string& text :
         {"=?base64?QQ?="s, "=?base64?QQ=?="s, "=?base64?Q===?="s, "=?base64?QR==?="s,
          "=?base64?Q-_=?="s, "=?base64?QQ== ?="s, "=?base64?****?="s, "=?base64?/w==?="s,
          "caf\xc3\xa9"s, "a\0b"s, "a\x01"s, "\x7f"s})
        EXPECT_EQ(decode_header_value(text), std::nullopt) << text;
}

TEST(McpHeaderValue, ComparisonIsByTheKindOfTheBodysValue) {
    json::Parser parser;
    const auto equal = [&](std::string_view decoded, std::string_view json) {
        return header_equals(decoded, parser.parse(json)->element());
    };
    EXPECT_TRUE(equal("42.0", "42"));
    EXPECT_TRUE(equal("42", "42.0"));
    EXPECT_TRUE(equal("4.2e1", "42"));
    EXPECT_TRUE(equal("-0", "0"));
    EXPECT_TRUE(equal("9007199254740991", "9007199254740991"));
    EXPECT_FALSE(equal("9007199254740992", "9007199254740991"));
    for (const std::string_view other :
         {"43", "042", "+42", "42.", "0x2a", "", "42 ", "forty-two", "1e400", "NaN", "-", "42e"})
        EXPECT_FALSE(equal(other, "42")) << other;
    EXPECT_TRUE(equal("true", "true"));
    EXPECT_FALSE(equal("True", "true"));
    EXPECT_FALSE(equal("1", "true"));
    EXPECT_TRUE(equal("42", "\"42\""));
    EXPECT_FALSE(equal("42.0", "\"42\"")) << "strings are compared by bytes";
    EXPECT_TRUE(equal("", "\"\""));
    EXPECT_FALSE(equal("null", "null"));
    EXPECT_FALSE(equal("[]", "[]"));
}

TEST(McpHeaderValue, ScalarsHaveATextAndOthersHaveNone) {
    json::Parser parser;
    const auto text = [&](std::string_view json) {
        return header_text(parser.parse(json)->element());
    };
    EXPECT_EQ(text("\"a b\""), "a b");
    EXPECT_EQ(text("42.0"), "42");
    EXPECT_EQ(text("-7"), "-7");
    EXPECT_EQ(text("false"), "false");
    EXPECT_EQ(text("null"), std::nullopt);
    EXPECT_EQ(text("{}"), std::nullopt);
    EXPECT_EQ(text("[1]"), std::nullopt);
}

}  // namespace
}  // namespace crab::mcp
