#include "adapters/mcp/wire/names.hpp"

#include "crypto/digest.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::string_literals;

std::string digest(std::string_view name) { return crypto::sha256_hex(name).substr(0, 8); }

TEST(McpNames, AnOrdinaryNameIsItself) {
    for (const std::string& name : {"get_weather"s, "a"s, "A.b-c_9"s, std::string(128, 'x')})
        EXPECT_EQ(tool_name(name), name);
    EXPECT_EQ(listed_name(std::string(64, 'x')), std::string(64, 'x'));
}

TEST(McpNames, SixtyFiveCharactersAreShortenedAndStayTheSame) {
    const std::string name = std::string(60, 'a') + "_tail";
    ASSERT_EQ(name.size(), 65U);
    const std::string listed = listed_name(name);
    EXPECT_EQ(listed, std::string(55, 'a') + "_" + digest(name));
    EXPECT_EQ(listed.size(), 64U);
    EXPECT_EQ(listed_name(name), listed) << "stable";
    EXPECT_NE(listed_name(std::string(60, 'a') + "_liat"), listed) << "two names stay two";
    EXPECT_EQ(listed_name(name, {.max = 60}).size(), 60U);
}

TEST(McpNames, EachCharacterThatNoNameHasIsReplacedByOne) {
    EXPECT_EQ(tool_name("files/read"), "files_read_" + digest("files/read"));
    EXPECT_EQ(tool_name("a b"), "a_b_" + digest("a b"));
    EXPECT_EQ(tool_name("\xc3\xa9t\xc3\xa9"), "_t__" + digest("\xc3\xa9t\xc3\xa9"));
    EXPECT_EQ(tool_name("\xe5\xa4\xa9\xe6\xb0\x97"), "___" + digest("\xe5\xa4\xa9\xe6\xb0\x97"));
    EXPECT_EQ(tool_name("a\xff"), "a__" + digest("a\xff")) << "what is not UTF-8, too";
    EXPECT_EQ(tool_name(""), "_" + digest(""));
    EXPECT_NE(tool_name("a/b"), tool_name("a b"));
    const std::string longest(129, 'x');
    EXPECT_EQ(tool_name(longest), std::string(119, 'x') + "_" + digest(longest));
}

TEST(McpNames, DotsAreKeptOrReplaced) {
    EXPECT_EQ(listed_name("a.b"), "a.b");
    EXPECT_EQ(listed_name("a.b", {.dots = Dots::kUnderscore}), "a_b");
    EXPECT_EQ(listed_name(qualified_name("files", "fs.read"), {.dots = Dots::kUnderscore}),
              "files__fs_read");
}

}  // namespace
}  // namespace crab::mcp
