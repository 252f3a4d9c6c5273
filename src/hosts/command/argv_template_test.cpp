#include "hosts/command/argv_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::vector<std::string>> words(std::string_view argv, std::string_view arguments) {
    json::Parser parser;
    const auto made = ArgvTemplate::parse(json::Value::parse(argv).value());
    if (!made) return fail(made.error());
    return made->expand(parser.parse(arguments).value().element());
}

TEST(ArgvTemplateTest, ArgumentsStandInWordsAsTheyAreAndNoShellReadsThem) {
    EXPECT_THAT(
        words(R"(["wc","-w","--","{path}"])", R"({"path":"$(reboot); `x` \"a b\".md"})").value(),
        ElementsAre("wc", "-w", "--", "$(reboot); `x` \"a b\".md"));
    EXPECT_THAT(
        words(R"(["head","--lines={n}","{flag}","{share}"])", R"({"n":3,"flag":true,"share":0.5})")
            .value(),
        ElementsAre("head", "--lines=3", "true", "0.5"));
    EXPECT_THAT(words(R"(["x","{}","{a b}","a{b","{n}{n}"])", R"({"n":"1"})").value(),
                ElementsAre("x", "{}", "{a b}", "a{b", "11"));
}

TEST(ArgvTemplateTest, AListBecomesOneWordPerItem) {
    EXPECT_THAT(words(R"(["cat","--","{files...}"])", R"({"files":["a b","-c"]})").value(),
                ElementsAre("cat", "--", "a b", "-c"));
    EXPECT_THAT(words(R"(["cat","{files...}"])", R"({"files":[]})").value(), ElementsAre("cat"));
    EXPECT_THAT(words(R"(["cat","{files...}"])", R"({"files":"a"})").error().message,
                HasSubstr("/files"));
}

TEST(ArgvTemplateTest, ConditionalWordsCountWhenTheArgumentIsTrueOrPresent) {
    constexpr std::string_view argv =
        R"(["ls",{"if":"all","argv":["-a"]},{"if":"sort","argv":["--sort={sort}"]}])";
    EXPECT_THAT(words(argv, R"({"all":true,"sort":"size"})").value(),
                ElementsAre("ls", "-a", "--sort=size"));
    EXPECT_THAT(words(argv, R"({"all":false})").value(), ElementsAre("ls"));
    EXPECT_THAT(words(argv, R"({"all":null})").value(), ElementsAre("ls"));
}

TEST(ArgvTemplateTest, AValueThatLooksLikeAnOptionNeedsTwoDashesBeforeIt) {
    EXPECT_EQ(words(R"(["rm","{path}"])", R"({"path":"-rf"})").error().code,
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(words(R"(["rm","{paths...}"])", R"({"paths":["a","-rf"]})").error().code,
              ErrorCode::kInvalidArgs);
    EXPECT_THAT(words(R"(["rm","--","{path}"])", R"({"path":"-rf"})").value(),
                ElementsAre("rm", "--", "-rf"));
    EXPECT_THAT(words(R"(["head","-n{n}"])", R"({"n":-3})").value(), ElementsAre("head", "-n-3"))
        << "it is part of a word";
    EXPECT_EQ(words(R"(["x","{a}","{b}"])", R"({"a":"--","b":"-rf"})").error().code,
              ErrorCode::kInvalidArgs)
        << "the caller cannot end the options itself";
}

TEST(ArgvTemplateTest, AWordThatBeginsWithAnArgumentIsNoOptionEither) {
    const auto code = [](std::string_view argv, std::string_view arguments) {
        const auto made = words(argv, arguments);
        return made ? ErrorCode::kInternal : made.error().code;
    };
    EXPECT_EQ(code(R"(["ls","{user}@{host}"])", R"({"user":"--block-size=1","host":"x"})"),
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(code(R"(["ls","{a}{b}"])", R"({"a":"","b":"-la"})"), ErrorCode::kInvalidArgs)
        << "whichever argument brings the dash";
    EXPECT_EQ(code(R"(["ls","{a}-x"])", R"({"a":""})"), ErrorCode::kInvalidArgs)
        << "nor the text behind an empty one";
    EXPECT_EQ(code(R"(["ls",{"if":"a","argv":["{a}/x"]}])", R"({"a":"-l"})"),
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(code(R"(["ls","{n}%"])", R"({"n":-5})"), ErrorCode::kInvalidArgs);
    EXPECT_THAT(words(R"(["ls","--","{user}@{host}"])", R"({"user":"-x","host":"y"})").value(),
                ElementsAre("ls", "--", "-x@y"));
    EXPECT_THAT(words(R"(["ls","{user}@{host}"])", R"({"user":"a","host":"-y"})").value(),
                ElementsAre("ls", "a@-y"));
}

TEST(ArgvTemplateTest, OnlyFixedTextEndsTheOptions) {
    for (const std::string_view argv :
         {R"(["rm","-{a}","{b}"])", R"(["rm","{c}{d}","{b}"])", R"(["rm","-{c}-","{b}"])"}) {
        EXPECT_FALSE(words(argv, R"({"a":"-","b":"-rf","c":"","d":"--"})")) << argv;
    }
}

TEST(ArgvTemplateTest, AWholeNumberIsPrintedInDigitsHoweverItWasSpelled) {
    EXPECT_THAT(
        words(R"(["sed","-n","{n},{m}p","{k}","{share}","{big}","{tiny}"])",
              R"({"n":100.0,"m":1e2,"k":-0.0,"share":2.5,"big":1e22,"tiny":1e-7})")
            .value(),
        ElementsAre("sed", "-n", "100,100p", "0", "2.5", "1" + std::string(22, '0'), "0.0000001"));
}

TEST(ArgvTemplateTest, WhatHasNoFormAsAWordIsRefusedByName) {
    EXPECT_THAT(words(R"(["x","{a}"])", R"({})").error().message, HasSubstr("/a: is missing"));
    EXPECT_THAT(words(R"(["x","{a}"])", R"({"a":{}})").error().message, HasSubstr("/a"));
    EXPECT_THAT(words(R"(["x","{a}"])", R"({"a":"b\u0000c"})").error().message, HasSubstr("NUL"));
}

TEST(ArgvTemplateTest, TheProgramIsFixedText) {
    for (const std::string_view argv :
         {"[]", R"(["{a}"])", R"(["a{b}"])", R"([{"if":"a","argv":["b"]}])", R"([1])", R"("wc")",
          R"(["x",{"if":"a"}])"}) {
        EXPECT_FALSE(ArgvTemplate::parse(json::Value::parse(argv).value())) << argv;
    }
}

}  // namespace
}  // namespace crab::command
