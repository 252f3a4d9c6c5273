#include "json/single_pass.hpp"

#include "json/test_single_pass.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace crab::json {
namespace {

constexpr std::size_t kMaxDepth = 8;

const std::vector<std::string_view> kTaken{
    R"({})",
    R"([])",
    R"("")",
    R"(7)",
    " [ 1 ,\t2\r\n, { } , [ ] ] ",
    R"({"a":1,"b":[true,false,null],"c":{"d":"e"}})",
    R"({"a":1,"a":2})",
    R"({"x":{"a":1,"b":2,"a":3}})",
    R"([-1,0,10,999999999999999999,-999999999999999999])",
    R"([1.5,-0.25,21.5,0.1,123456789.123456,99999999999999.9,0.00000000000001,-1.0])",
    R"(["\"\\\/\b\f\n\r\t","0123456789abcdef","0123456789abcde","0123456789abcdef0"])",
    "[\"gr\xc3\xbc\xc3\x9f\",\"\xe6\x97\xa5\xe6\x9c\xac\",\"\xf0\x9f\xa6\x80\",\"\x7f\"]",
    R"({"":0,"a":{"":1}})",
    R"([[[[[[[[1]]]]]]]])",
};

const std::vector<std::string_view> kLeft{
    "",
    " ",
    "{",
    "[1,]",
    R"({"a" 1})",
    "nul",
    "01",
    "1 2",
    "-",
    "1.",
    ".5",
    R"({"a":1}})",
    "\"\n\"",
    "\"abc",
    "'a'",
    "[1e999]",
    R"("\x")",
    "\"\xff\"",
    "[1,\x80]",
    R"("\u00")",
    "NaN",
    "\xef\xbb\xbf{}",
    R"(["a" "b"])",
    R"({"a":1,})",
    "[1}",
    R"({"a":})",
    "[,1]",
    "[1 2]",
    "tru",
    "truex",
    "[-0]",
    "[-0.0]",
    "[0.0]",
    "[1e5]",
    "[00]",
    "[+1]",
    R"("\u0041")",
    "[1000000000000000000]",
    "[1.5e3]",
    "[0.1234567890123456]",
    "\"\xed\xa0\x80\"",
    "[[[[[[[[[1]]]]]]]]]",
    "{1:2}",
};

TEST(SinglePass, WhatItReadsSimdjsonReadsAlike) {
    BothReaders readers(kMaxDepth);
    for (const std::string_view text : kTaken) {
        EXPECT_EQ(readers.differ_in(text), "") << text;
        EXPECT_TRUE(readers.taken()) << text;
    }
}

TEST(SinglePass, WhatIsRareOrNoJsonIsLeft) {
    BothReaders readers(kMaxDepth);
    for (const std::string_view text : kLeft) {
        EXPECT_EQ(readers.differ_in(text), "") << text;
        EXPECT_FALSE(readers.taken()) << text;
    }
    const std::string nul("[\"a\0b\"]", 7), after("[1]\0", 4);
    for (const std::string& text : {nul, after}) {
        EXPECT_EQ(readers.differ_in(text), "");
        EXPECT_FALSE(readers.taken());
    }
}

TEST(SinglePass, EveryEndOfATextIsAsSimdjsonSees) {
    BothReaders readers(kMaxDepth);
    for (const std::string_view text : kTaken)
        for (std::size_t size = 0; size <= text.size(); ++size)
            EXPECT_EQ(readers.differ_in(text.substr(0, size)), "") << text.substr(0, size);
}

TEST(SinglePass, ManyNamesAreComparedToo) {
    BothReaders readers(kMaxDepth);
    for (const int count : {23, 24, 25, 26, 200}) {
        std::string text = "{";
        for (int i = 0; i < count; ++i) text += "\"name" + std::to_string(i) + "\":{},";
        for (const int again : {0, 11, count - 1, count}) {
            const std::string whole = text + "\"name" + std::to_string(again) + "\":1}";
            EXPECT_EQ(readers.differ_in(whole), "") << whole;
            EXPECT_TRUE(readers.taken());
        }
    }
}

/// Texts made of pieces that JSON is made of, most of them no JSON.
TEST(SinglePass, ChangedTextsAreReadAlikeOrLeft) {
    constexpr std::string_view kBytes = "{}[]\",:\\ 0123456789.-+eEtfnu\n\xc3\xbc\x1f\x7f";
    std::mt19937 random(7);
    BothReaders readers(kMaxDepth);
    const auto below = [&](std::size_t end) { return random() % end; };
    int taken = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text(kTaken[below(kTaken.size())]);
        for (std::size_t changes = below(3); changes > 0 && !text.empty(); --changes) {
            const std::size_t at = below(text.size());
            const char byte = kBytes[below(kBytes.size())];
            switch (below(3)) {
                case 0: text[at] = byte; break;
                case 1: text.insert(at, 1, byte); break;
                default: text.erase(at, 1);
            }
        }
        ASSERT_EQ(readers.differ_in(text), "") << text;
        taken += readers.taken() ? 1 : 0;
    }
    EXPECT_GT(taken, 5'000);
}

}  // namespace
}  // namespace crab::json
