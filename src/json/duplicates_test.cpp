#include "json/duplicates.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

std::optional<std::string> found_in(std::string_view text) {
    Parser parser;
    return find_duplicate(parser.parse(text).value().element());
}

TEST(Duplicates, AreFoundAtAnyDepthAndNamed) {
    EXPECT_EQ(found_in(R"({"a":1,"b":2,"a":3})"), "/a");
    EXPECT_EQ(found_in(R"({"a":[1,{"b/c":{"d":1,"\u0064":2}}]})"), "/a/1/b~1c/d");
    EXPECT_EQ(found_in(R"([{"a":1},{"a":1}])"), std::nullopt);
    EXPECT_EQ(found_in(R"({"a":{"a":{"a":1}},"A":1})"), std::nullopt);
    EXPECT_EQ(found_in("7"), std::nullopt);
}

TEST(Duplicates, AmongVeryManyMembersAreFoundInOnePass) {
    std::string text = "{";
    for (int i = 0; i < 100'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
    EXPECT_EQ(found_in(text + "\"99999\":1}"), "/99999");
}

}  // namespace
}  // namespace crab::json
