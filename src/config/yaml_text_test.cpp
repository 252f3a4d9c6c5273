#include "config/yaml_text.hpp"

#include "config/yaml_document.hpp"

#include <gtest/gtest.h>

namespace crab::config {
namespace {

json::Value read_back(const std::string& yaml) {
    Problems problems;
    const YamlDocument document = read_yaml(yaml, problems);
    return document.value;
}

TEST(YamlText, IsBlocksThatReadAsTheSameValue) {
    const auto value =
        json::Value::parse(R"({"tools":[{"name":"sms.send","retries":3,"on":true,"none":null,)"
                           R"("share":0.25,"args":{},"list":[]}],"text":"a: b # c"})")
            .value();
    const std::string yaml = to_yaml(value);
    EXPECT_TRUE(yaml.starts_with("tools:\n  - name: sms.send\n    retries: 3\n")) << yaml;
    EXPECT_EQ(read_back(yaml), value) << yaml;
}

TEST(YamlText, KeepsStringsStringsThatLookLikeSomethingElse) {
    for (const char* text :
         {"true", "no",      "1e3", "0x10", "12:30", "~",  "",     " a",         "a ", "- x",
          "a\nb", "\x1b[2J", "{a}", "*a",   "&a",    "!t", "null", "2026-11-28", "\"", "\\"}) {
        const auto value = json::Value::object({{"x", text}});
        const std::string yaml = to_yaml(value);
        EXPECT_EQ(read_back(yaml), value) << yaml;
        EXPECT_EQ(yaml.find('\x1b'), std::string::npos);
    }
    EXPECT_EQ(to_yaml(json::Value::object({{"x", "no"}})), "x: \"no\"\n");
}

}  // namespace
}  // namespace crab::config
