#include "cli/output/json_path.hpp"

#include <gtest/gtest.h>

namespace crab::cli {
namespace {

const json::Value& tools() {
    static const json::Value value = json::Value::parse(R"({"kind":"list","tools":[
            {"name":"sms.send","calls":3,"source":{"kind":"device","id":"phone"},"a b":1},
            {"name":"dice","calls":12,"source":{"kind":"built_in"},"tags":["x","y"]}]})")
                                         .value();
    return value;
}

std::string text_for(std::string_view path) {
    const auto parsed = JsonPath::parse(path);
    if (!parsed) return "refused: " + parsed.error().message;
    return parsed->text_for(tools()).value();
}

TEST(JsonPath, HasTheCommonFormsOfKubectl) {
    for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
             {"{.tools[*].name}", "sms.send dice"},
             {"{$.kind}", "list"},
             {".kind", "list"},
             {"kind is {.kind}.", "kind is list."},
             {"{.tools[0].source}", R"({"kind":"device","id":"phone"})"},
             {"{.tools[-1].name}", "dice"},
             {"{.tools[0:1].name}", "sms.send"},
             {"{.tools[1:].calls}", "12"},
             {"{.tools[*].source.id}", "phone"},
             {"{.tools[0]['a b']}", "1"},
             {"{.tools[0]['name','calls']}", "sms.send 3"},
             {"{..kind}", "list device built_in"},
             {"{.tools[1].tags.*}", "x y"},
             {R"({range .tools[*]}{.name}{"\t"}{.calls}{"\n"}{end})", "sms.send\t3\ndice\t12\n"},
             {R"({.tools[?(@.calls>3)].name})", "dice"},
             {R"({.tools[?(@.source.kind=="device")].name})", "sms.send"},
             {R"({.tools[?(@.name!='dice')].name})", "sms.send"},
             {R"({.tools[?(@.tags)].name})", "dice"},
             {R"({range .tools[*]}{range .tags[*]}<{@}>{end}{end})", "<x><y>"},
             {"{.nothing.there}", ""},
             {"{.tools[9].name}", ""},
             {"{.tools[-9].name}", ""}}) {
        EXPECT_EQ(text_for(path), expected) << path;
    }
}

TEST(JsonPath, SaysWhereATemplateIsWrong) {
    for (const char* path :
         {"{.tools[", "{.tools[0}", "{.tools[x]}", "{", "{.a", "{range .tools[*]}{.name}", "{end}",
          "{.a[?(b==1)]}", "{.a[?(@.b==)]}", "{.a[?(@.b==1]}", "{\"x}", "{.a b}", "{..a.}x{"}) {
        const auto parsed = JsonPath::parse(path);
        ASSERT_FALSE(parsed) << path;
        EXPECT_NE(parsed.error().message.find("at character"), std::string::npos) << path;
    }
    EXPECT_FALSE(JsonPath::parse(""));
    EXPECT_FALSE(JsonPath::parse(std::string(5000, 'a')));
    std::string deep, deep_filter = "{";
    for (int i = 0; i < 100; ++i) deep += "{range .a}", deep_filter += "[?(@";
    EXPECT_FALSE(JsonPath::parse(deep));
    EXPECT_FALSE(JsonPath::parse(deep_filter));
}

}  // namespace
}  // namespace crab::cli
