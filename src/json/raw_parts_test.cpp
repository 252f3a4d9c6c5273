#include "json/raw_parts.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace crab::json {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;  // name, value

Parts parts_of(std::string_view text) {
    Parts found;
    for (RawParts parts(text); parts.next();) found.emplace_back(parts.name(), parts.value());
    return found;
}

TEST(RawParts, MembersKeepTheirBytesAndTheirOrder) {
    EXPECT_EQ(parts_of(R"( { "b" : [ 1, {"x":"]"} ] ,"a":-1.50e3,"c":"q\"}","d":{},"e":null } )"),
              (Parts{{"b", R"([ 1, {"x":"]"} ])"},
                     {"a", "-1.50e3"},
                     {"c", R"("q\"}")"},
                     {"d", "{}"},
                     {"e", "null"}}));
    EXPECT_EQ(parts_of("[1 ,\"a\\\\\",[[]],true]"),
              (Parts{{"", "1"}, {"", "\"a\\\\\""}, {"", "[[]]"}, {"", "true"}}));
    EXPECT_EQ(parts_of("{}"), Parts{});
    EXPECT_EQ(parts_of(" [ ] "), Parts{});
    EXPECT_EQ(parts_of("\"text\""), Parts{});
    EXPECT_EQ(parts_of("12"), Parts{});
}

TEST(RawParts, AStringEndsAtItsQuoteWhereverEscapesAndBracketsAreInIt) {
    for (std::size_t size = 0; size < 90; ++size) {
        for (std::size_t at = 0; at <= size; ++at) {
            for (const std::string_view odd : {"\\\"", "\\\\", "]}[{", "\u00e9"}) {
                const std::string text = '"' + std::string(at, 'x') + std::string(odd) +
                                         std::string(size - at, 'y') + '"';
                const std::string inner = "{\"k\":[" + text + "," + text + "]}";
                ASSERT_EQ(parts_of("[" + text + "," + inner + ",7]"),
                          (Parts{{"", text}, {"", inner}, {"", "7"}}));
            }
        }
    }
}

TEST(RawParts, NamesAreComparedWithoutTheirEscapes) {
    constexpr std::string_view kText = R"({"na\u006de":1,"\ud83e\udd80\n":2,"":3})";
    EXPECT_EQ(parts_of(kText), (Parts{{"name", "1"}, {"\U0001F980\n", "2"}, {"", "3"}}));
    EXPECT_EQ(find_raw(kText, "name"), "1");
    EXPECT_EQ(find_raw(kText, ""), "3");
    EXPECT_EQ(find_raw(kText, "absent"), std::nullopt);
    EXPECT_EQ(find_raw("[1,2]", ""), std::nullopt) << "items have no name, not an empty one";
    EXPECT_EQ(find_raw(R"({"a":1,"a":2})", "a"), "1");
}

TEST(RawParts, AStringIsReadWithoutItsEscapes) {
    EXPECT_EQ(read_raw_string(R"("a\"\\\/\b\f\n\r\t\u00e9\ud83e\udd80")"),
              "a\"\\/\b\f\n\r\t\xc3\xa9\U0001F980");
    EXPECT_EQ(read_raw_string("12"), std::nullopt);
    EXPECT_EQ(find_raw_string(R"({"type":"text","n":1})", "type"), "text");
    EXPECT_EQ(find_raw_string(R"({"type":"text","n":1})", "n"), std::nullopt);
}

TEST(RawParts, ALineHasNoLineEndsOfItsOwn) {
    std::string out = "> ";
    append_one_line(out, "{\r\n  \"a\" : \"x\\ny\",\n\n\"b\":1}\n");
    EXPECT_EQ(out, "> {  \"a\" : \"x\\ny\",\"b\":1}");
    EXPECT_TRUE(Parser().parse(std::string_view(out).substr(2)).has_value());
}

TEST(RawParts, CompactTextKeepsStringsAndNumbersAsTheyCame) {
    std::string out;
    append_compact(out,
                   " { \"a b\" :\t[ 1.50 , \"x \\\" y\" ] ,\r\n \"c\": 12345678901234567890123 } ");
    EXPECT_EQ(out, R"({"a b":[1.50,"x \" y"],"c":12345678901234567890123})");
}

TEST(RawParts, ACompactTextOfAnyLengthSaysTheSame) {
    std::string spread = "[", packed = "[";
    for (int i = 0; i < 60; ++i) {
        const std::string item = R"({"a \" b":"x\\\" )" + std::string(i % 7, ' ') + R"("})";
        spread += (i > 0 ? " ,\n " : " ") + item;
        packed += (i > 0 ? "," : "") + item;
        std::string out = "> ";
        append_compact(out, spread + "\t]  ");
        ASSERT_EQ(out, "> " + packed + "]");
    }
    std::string out;
    append_compact(out, "{\"a\" : \"b");
    EXPECT_EQ(out, "{\"a\":\"b") << "a text that is not JSON keeps its strings";
}

TEST(RawParts, ATextThatIsNoJsonEndsTheWalk) {
    for (const std::string_view text :
         {"{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\\", "{:::", "[,,", "[\"\\", "{a:1}", "[}]",
          "[\"\\u12", "{\"\\ud800\\u", "}", "{\"a\":\"\\", "[[[", "{\"a\"{\"b\""}) {
        SCOPED_TRACE(text);
        EXPECT_LE(parts_of(text).size(), 2U);
        (void)read_raw_string(text.substr(1));
    }
}

}  // namespace
}  // namespace crab::json
