#include "json/writer.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace crab::json {
namespace {

std::string json_quoted(std::string_view text) {
    std::string out;
    append_quoted(out, text);
    return out;
}

std::string quoted_lossy(std::string_view text) {
    std::string out;
    append_quoted_lossy(out, text);
    return out;
}

TEST(Writer, CommasComeWhereTheyBelong) {
    std::string out = "data: ";
    Writer writer(out);
    writer.begin_object()
        .key("a")
        .integer(-1)
        .key("b")
        .begin_array()
        .string("x")
        .null()
        .begin_array()
        .end_array()
        .begin_object()
        .end_object();
    writer.boolean(true)
        .end_array()
        .key("c")
        .raw(R"({"raw": 1})")
        .key("d")
        .unsigned_integer(~std::uint64_t{0})
        .end_object();
    EXPECT_EQ(
        out, R"(data: {"a":-1,"b":["x",null,[],{},true],"c":{"raw": 1},"d":18446744073709551615})");
}

TEST(Writer, DoublesAreShortestAndStayDoubles) {
    std::string out;
    Writer(out)
        .begin_array()
        .number(0.1)
        .number(1)
        .number(-0.0)
        .number(1e21)
        .number(5e-324)
        .end_array();
    EXPECT_EQ(out, "[0.1,1.0,-0.0,1e+21,5e-324]");
    EXPECT_THROW(Writer(out).number(std::numeric_limits<double>::infinity()), std::domain_error);
}

TEST(Quoting, EveryByteThatNeedsAnEscapeGetsOneWhereverItStands) {
    EXPECT_EQ(json_quoted(""), R"("")");
    EXPECT_EQ(json_quoted("\b\f\n\r\t\x01\x1f\"\\/\x7f"),
              "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\\"\\\\/\x7f\"");
    for (std::size_t before = 0; before < 20; ++before) {
        for (std::size_t after = 0; after < 10; ++after) {
            const std::string left(before, '\xC3'), right(after, ' ');
            EXPECT_EQ(json_quoted(left + '"' + right), '"' + left + "\\\"" + right + '"');
            EXPECT_EQ(json_quoted(left + '\x1f' + right), '"' + left + "\\u001f" + right + '"');
        }
    }
    EXPECT_EQ(json_quoted("grüße 🦀"), "\"grüße 🦀\"");
}

TEST(Quoting, LongTextsFullOfEscapesAreReadBackAsTheyWere) {
    std::mt19937 random(1);
    Parser parser;
    const std::string_view kinds = "\"\\\x01\n/aaaaaaaa";
    for (std::size_t size = 0; size < 1100; size += size < 40 ? 1 : 53) {
        std::string text;
        while (text.size() < size) text += kinds[random() % kinds.size()];
        for (const std::string& each : {text, std::string(size, '\x1f'), std::string(size, '"')}) {
            const std::string quoted = json_quoted(each);
            const auto root = parser.parse(quoted);
            ASSERT_TRUE(root) << quoted;
            ASSERT_EQ(root->element().get_string().value(), each);
        }
    }
}

TEST(Quoting, WhatIsNotUtf8BecomesOneReplacementPerMaximalPart) {
    EXPECT_EQ(quoted_lossy("ok \"ü\""), "\"ok \\\"ü\\\"\"");
    EXPECT_EQ(quoted_lossy("a\xff"
                           "b"),
              "\"a\xEF\xBF\xBD"
              "b\"");
    EXPECT_EQ(quoted_lossy("\xF0\x9F\xA6"), "\"\xEF\xBF\xBD\"");
    EXPECT_EQ(quoted_lossy("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    EXPECT_EQ(quoted_lossy("\xC0\xAF\n"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\\n\"");
}

}  // namespace
}  // namespace crab::json
