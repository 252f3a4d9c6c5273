#include "json/value.hpp"

#include "json/pointer.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

Value parsed(std::string_view text) { return Value::parse(text).value(); }

TEST(Value, KeepsTheOrderOfMembersAndDumpsWhatItRead) {
    const std::string_view text =
        R"({"z":1,"a":[true,null,-1.5,"é\n",18446744073709551615],"m":{}})";
    EXPECT_EQ(parsed(text).dump(), text);
}

TEST(Value, RefusesTwoMembersOfOneNameAtAnyDepth) {
    EXPECT_EQ(Value::parse(R"([{"a":{"b":1,"b":1}}])").error().code, ErrorCode::kInvalidArgs);
}

TEST(Value, EqualityIsByValueAndWithoutMemberOrder) {
    EXPECT_EQ(parsed(R"({"a":1,"b":[1.0]})"), parsed(R"({"b":[1],"a":1.0})"));
    EXPECT_NE(parsed("[1,2]"), parsed("[2,1]"));
    EXPECT_NE(parsed("9007199254740993"), parsed("9007199254740992.0"));
    EXPECT_EQ(parsed("18446744073709551615"), Value(~std::uint64_t{0}));
    EXPECT_NE(parsed("false"), parsed("0"));
    EXPECT_NE(parsed("null"), parsed("false"));
    EXPECT_EQ(hash_of(parsed(R"({"a":1,"b":[1.0]})")), hash_of(parsed(R"({"b":[1],"a":1.0})")));
}

TEST(Value, ParsedAndOwnedValuesAgreeOnEqualityAndHash) {
    Parser parser;
    for (const std::string_view text : {"1", "1.0", "-0.0", "\"x\"", "null", "true", "[]", "{}",
                                        R"({"a":[1,{"b":2}],"c":"d"})", "1e300"}) {
        const auto root = parser.parse(text);
        EXPECT_TRUE(equal(root->element(), parsed(text))) << text;
        EXPECT_EQ(hash_of(root->element()), hash_of(parsed(text))) << text;
        EXPECT_FALSE(equal(root->element(), parsed(R"({"other":1})"))) << text;
    }
}

TEST(Value, IsBuiltByHand) {
    Value value;
    value.set("name", "x").dump();
    value.set("list", Value::array({1, 2.5})).push_back(nullptr);
    value.set("name", "y");
    EXPECT_EQ(value.dump(), R"({"name":"y","list":[1,2.5,null]})");
    EXPECT_TRUE(value.erase("name"));
    EXPECT_FALSE(value.erase("name"));
}

TEST(JsonPointer, LeadsToTheExamplesOfTheRfc) {
    const Value document = parsed(
        R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,)"
        R"("m~n":8})");
    EXPECT_EQ(document.resolve(""), &document);
    EXPECT_EQ(*document.resolve("/foo/0"), Value("bar"));
    EXPECT_EQ(*document.resolve("/"), Value(0));
    EXPECT_EQ(*document.resolve("/a~1b"), Value(1));
    EXPECT_EQ(*document.resolve("/m~0n"), Value(8));
    for (const std::string_view nowhere :
         {"foo", "/foo/2", "/foo/01", "/foo/-", "/foo/+1", "/m~n", "/m~", "/foo/0/x"}) {
        EXPECT_EQ(document.resolve(nowhere), nullptr) << nowhere;
    }
    EXPECT_EQ(escape_pointer("~a/b"), "~0a~1b");
    EXPECT_EQ(unescape_pointer("~01"), "~1");
}

TEST(Number, ComparesWithoutRounding) {
    const std::int64_t big = (std::int64_t{1} << 53) + 1;
    EXPECT_TRUE(compare(big, 9'007'199'254'740'992.0) > 0);
    EXPECT_TRUE(compare(9'007'199'254'740'992.0, big) < 0);
    EXPECT_TRUE(compare(std::int64_t{-1}, ~std::uint64_t{0}) < 0);
    EXPECT_TRUE(compare(std::int64_t{3}, 3.5) < 0);
    EXPECT_TRUE(compare(std::int64_t{-3}, -3.5) > 0);
    EXPECT_TRUE(compare(~std::uint64_t{0}, 18'446'744'073'709'551'616.0) < 0);
    EXPECT_TRUE(compare(std::int64_t{0}, -0.0) == 0);
}

TEST(Number, MultiplesAreDecimalAsPeopleWriteThem) {
    EXPECT_TRUE(is_multiple(4.35, 0.01));
    EXPECT_TRUE(is_multiple(0.0075, 0.0001));
    EXPECT_TRUE(is_multiple(19.99, 0.01));
    EXPECT_FALSE(is_multiple(0.00751, 0.0001));
    EXPECT_FALSE(is_multiple(4.351, 0.01));
    EXPECT_TRUE(is_multiple(std::int64_t{-10}, std::int64_t{5}));
    EXPECT_TRUE(is_multiple(0.0, 0.3));
    EXPECT_FALSE(is_multiple(1e308, 0.123456789));
    EXPECT_TRUE(is_multiple(1e308, 0.5));
}

}  // namespace
}  // namespace crab::json
