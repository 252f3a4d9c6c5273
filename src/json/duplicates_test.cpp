#include "json/duplicates.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

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

TEST(Duplicates, AreToldFromNamesThatLookAlike) {
    std::mt19937 random(1);
    Parser parser;
    int with = 0;
    for (int round = 0; round < 4000; ++round) {
        std::set<std::string> names;
        std::string text = "{";
        const std::size_t members = random() % 40;  // few, and more than few
        for (std::size_t i = 0; i < members; ++i) {
            std::string name(random() % 5, 'a');  // the same lengths and ends again and again
            for (char& c : name) c = static_cast<char>('a' + random() % 6);
            if (i % 2 == 0) name += std::to_string(random() % 1000);
            names.insert(name);
            text += (i > 0 ? ",\"" : "\"") + name + "\":[]";
        }
        const bool twice = names.size() != members;
        with += twice ? 1 : 0;
        const auto root = parser.parse(text + "}");
        ASSERT_TRUE(root);
        ASSERT_EQ(has_duplicate_members(root->element()), twice) << text;
        ASSERT_EQ(find_duplicate(root->element()).has_value(), twice) << text;
    }
    EXPECT_GT(with, 500);
    EXPECT_LT(with, 3500);
}

}  // namespace
}  // namespace crab::json
