#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace crab::json {
namespace {

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
}

TEST(Parser, RawMembersAreTheCallersOwnBytes) {
    const std::string text =
        R"( {"id" : "c1", "args" :  {"a": [1,{"b":"]}"}], "n":1e2 } , "x\u0041": -1.50 ,)"
        R"("last":true } )";
    Parser parser;
    const auto root = parser.parse(text);
    ASSERT_TRUE(root);
    EXPECT_EQ(root->raw_member("id"), R"("c1")");
    EXPECT_EQ(root->raw_member("args"), R"({"a": [1,{"b":"]}"}], "n":1e2 })");
    EXPECT_EQ(root->raw_member("xA"), "-1.50");
    EXPECT_EQ(root->raw_member("last"), "true");
    EXPECT_EQ(root->raw_member("none"), std::nullopt);
    EXPECT_GE(root->raw_member("id")->data(), text.data());
    EXPECT_LT(root->raw_member("id")->data(), text.data() + text.size());
}

using Members = std::vector<std::pair<std::string, std::string>>;  // name, value

Members members_of(TokenParts parts) {
    Members found;
    while (parts.next()) found.emplace_back(parts.name(), parts.value());
    return found;
}

TEST(Parser, MembersAreWalkedAtAnyDepthByTheirTokens) {
    Parser parser;
    const auto root = parser.parse(
        R"( { "b" : [ 1, {"x":"]"} ] ,"a\u0041":-1.50e3,"c":{"q\"" :"q\"}" , "d":{ } },)"
        R"("e":null} )");
    ASSERT_TRUE(root);
    EXPECT_EQ(members_of(root->members()), (Members{{"b", R"([ 1, {"x":"]"} ])"},
                                                    {"aA", "-1.50e3"},
                                                    {"c", R"({"q\"" :"q\"}" , "d":{ } })"},
                                                    {"e", "null"}}));
    TokenParts parts = root->members();
    ASSERT_TRUE(parts.next());
    EXPECT_EQ(members_of(parts.inside()), Members{}) << "an array has no members";
    ASSERT_TRUE(parts.next());
    EXPECT_EQ(members_of(parts.inside()), Members{}) << "a number neither";
    ASSERT_TRUE(parts.next());
    EXPECT_EQ(members_of(parts.inside()), (Members{{"q\"", R"("q\"}")"}, {"d", "{ }"}}));
    EXPECT_TRUE(parts.next()) << "the walk inside has not moved this one";
    EXPECT_FALSE(parts.next());
    EXPECT_FALSE(parts.next());
    for (const std::string_view none : {"{}", " { } ", "[{\"a\":1}]", "\"{\"", "7"})
        EXPECT_EQ(members_of(parser.parse(none)->members()), Members{}) << none;
}

TEST(Parser, OfTwoMembersWithOneNameTheFirstCountsEverywhere) {
    Parser parser;
    const auto root = parser.parse(R"({"a":1,"a":2})");
    ASSERT_TRUE(root);
    EXPECT_TRUE(has_duplicate_members(root->element()));
    EXPECT_EQ(root->raw_member("a"), "1");
    EXPECT_EQ(get_int64(root->element(), "a"), 1);
}

TEST(Parser, ManyMembersAreSearchedForDuplicatesToo) {
    std::string text = "{";
    for (int i = 0; i < 1'000; ++i) text += fmt::format(R"("k{}":{},)", i, i);
    Parser parser;
    EXPECT_FALSE(has_duplicate_members(parser.parse(text + R"("last":0})")->element()));
    EXPECT_TRUE(has_duplicate_members(parser.parse(text + R"("k500":0})")->element()));
}

TEST(Parser, ABorrowedElementKnowsThatTheParserWentOn) {
    Parser parser;
    const Borrowed first = parser.lend(parser.parse(R"({"a":1})")->element());
    ASSERT_TRUE(first.holds());
    EXPECT_EQ(get_int64(first.element(), "a"), 1);
    parser.shrink();
    EXPECT_TRUE(first.holds()) << "a small text leaves nothing to give back";

    const Borrowed second = parser.lend(parser.parse(R"({"a":2})")->element());
    EXPECT_FALSE(first.holds());
    EXPECT_THROW(static_cast<void>(first.element()), std::logic_error);
    EXPECT_EQ(get_int64(second.element(), "a"), 2);
    EXPECT_FALSE(parser.parse("{"));
    EXPECT_FALSE(second.holds()) << "what is refused was read into the same memory";
}

TEST(Parser, ABorrowedElementKnowsThatItsMemoryWasGivenBack) {
    Parser parser;
    const std::string large = fmt::format(R"({{"a":"{}"}})", std::string(3 << 20, 'x'));
    const Borrowed lent = parser.lend(parser.parse(large)->element());
    EXPECT_TRUE(lent.holds());
    parser.shrink();
    EXPECT_FALSE(lent.holds());
}

TEST(Parser, DepthIsCountedInBrackets) {
    Parser parser({.max_depth = 3});
    EXPECT_TRUE(parser.parse(nested(3)));
    const auto deep = parser.parse(nested(4));
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().code, ErrorCode::kInvalidArgs);
    EXPECT_NE(deep.error().message.find("deeper than 3"), std::string::npos);
    EXPECT_FALSE(Parser().parse(nested(65)));
    EXPECT_TRUE(Parser().parse(nested(64)));
}

TEST(Parser, DepthHoldsAfterTheBuffersGrew) {
    Parser parser({.max_depth = 3});
    EXPECT_TRUE(parser.parse("[" + std::string(100'000, ' ') + "]"));
    EXPECT_FALSE(parser.parse(nested(4)));
    EXPECT_TRUE(parser.parse(nested(3)));
}

TEST(Parser, TextsAboveTheLimitAreOversize) {
    Parser parser({.max_bytes = 10});
    EXPECT_TRUE(parser.parse("[1,2,3,45]"));
    EXPECT_EQ(parser.parse("[1,2,3,456]").error().code, ErrorCode::kOversize);
}

TEST(Parser, WhatIsNotJsonIsRefusedWithAReason) {
    Parser parser;
    for (const std::string_view text : {"",
                                        " ",
                                        "{",
                                        "[1,]",
                                        "{\"a\" 1}",
                                        "nul",
                                        "01",
                                        "1 2",
                                        "{\"a\":1}}",
                                        "\"\n\"",
                                        "\"abc",
                                        "'a'",
                                        "[1e999]",
                                        "\"\\x\"",
                                        "\"\xff\"",
                                        "\"\xed\xa0\x80\"",
                                        "\"\\ud800\"",
                                        "\"\\udc00\"",
                                        "\"\\ud800\\u0041\"",
                                        "\xef\xbb\xbf{}",
                                        "-",
                                        "1.",
                                        "NaN"}) {
        const auto root = parser.parse(text);
        ASSERT_FALSE(root) << text;
        EXPECT_EQ(root.error().code, ErrorCode::kInvalidArgs) << text;
        EXPECT_FALSE(root.error().message.empty());
    }
    EXPECT_NE(parser.parse("\"\xff\"").error().message.find("UTF-8"), std::string::npos);
}

TEST(Parser, IntegersBeyond64BitsBecomeDoublesAndOffsetsStayRight) {
    Parser parser;
    const std::string text = R"({"small":1234567890123456789,)"
                             R"("big":-98249283749234923498293171823948729348710298301928331,)"
                             R"("more":[18446744073709551616]})";
    const auto root = parser.parse(text);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(get_int64(root->element(), "small"), 1234567890123456789);
    EXPECT_DOUBLE_EQ(get_double(root->element(), "big").value(),
                     -98249283749234923498293171823948729348710298301928331.0);
    EXPECT_EQ(root->raw_member("big"), "-98249283749234923498293171823948729348710298301928331");
    EXPECT_EQ(to_text(get_array(root->element(), "more").value().at(0).value_unsafe()),
              "18446744073709551616.0");
}

TEST(Element, LookupsGiveNothingForAbsentOrOtherTypes) {
    Parser parser;
    const auto root = parser.parse(
        R"({"s":"x","b":true,"i":3.0,"f":1.5,"o":{},"a":[],"n":null,"u":18446744073709551615})");
    ASSERT_TRUE(root);
    const Element e = root->element();
    EXPECT_EQ(get_string(e, "s"), "x");
    EXPECT_EQ(get_string(e, "b"), std::nullopt);
    EXPECT_EQ(get_bool(e, "b"), true);
    EXPECT_EQ(get_int64(e, "i"), 3);
    EXPECT_EQ(get_int64(e, "f"), std::nullopt);
    EXPECT_EQ(get_int64(e, "u"), std::nullopt);
    EXPECT_EQ(get_double(e, "f"), 1.5);
    EXPECT_TRUE(get_object(e, "o"));
    EXPECT_FALSE(get_object(e, "a"));
    EXPECT_TRUE(get_array(e, "a"));
    EXPECT_TRUE(get(e, "n")->is_null());
    EXPECT_FALSE(get(e, "z"));
    EXPECT_FALSE(get(*get(e, "s"), "z"));
}

TEST(Element, TextOfAnElementParsesBackToTheSame) {
    Parser parser;
    const std::string_view text =
        R"({"a":[1,-2.5,1e300,0.1,1.0,18446744073709551615,"\u0000\"\\é\n"],"b":{"c":null,)"
        R"("d":true},"e":[],"f":{}})";
    const std::string once = to_text(parser.parse(text)->element());
    EXPECT_EQ(to_text(parser.parse(once)->element()), once);
    EXPECT_EQ(once,
              R"({"a":[1,-2.5,1e+300,0.1,1.0,18446744073709551615,"\u0000\"\\é\n"],"b":{"c":null,)"
              R"("d":true},"e":[],"f":{}})");
}

}  // namespace
}  // namespace crab::json
