#include "cli/call_arguments.hpp"
#include "cli/call_over_grpc.hpp"
#include "cli/command_line.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/question_text.hpp"
#include "cli/output/table.hpp"
#include "cli/policy_fields.hpp"

#include <gtest/gtest.h>

namespace crab::cli {
namespace {

using namespace std::chrono_literals;

template <class T>
T parsed(std::vector<const char*> arguments) {
    const auto result = parse_command_line(arguments);
    if (const auto* printed = std::get_if<ParserOutput>(&result)) {
        ADD_FAILURE() << printed->text;
        return {};
    }
    const Command* command = std::get<std::unique_ptr<Command>>(result).get();
    const auto* chosen = dynamic_cast<const CommandOf<T>*>(command);
    return chosen != nullptr ? chosen->options : T{};
}

TEST(CommandLine, FillsTheStructOfTheCommand) {
    const auto call = parsed<CallTool>({"call", "sms.send", "-", "--arg", "a=-1", "--arg", "b=2",
                                        "--timeout", "2m", "--stream", "-o", "json"});
    EXPECT_EQ(call.tool, "sms.send");
    EXPECT_EQ(call.args, "-");
    EXPECT_EQ(call.arg, (std::vector<std::string>{"a=-1", "b=2"}));
    EXPECT_EQ(call.timeout, 120s);
    EXPECT_TRUE(call.stream);
    EXPECT_EQ(call.output, Output::kJson);
    const auto device = parsed<Device>({"device", "--exec", "up=uptime", "--exec", "df=df -h",
                                        "--pair", "1", "--once", "--token", "t"});
    EXPECT_EQ(device.exec, (std::vector<std::string>{"up=uptime", "df=df -h"}));
    EXPECT_EQ(device.options.pair_code, "1");
    EXPECT_EQ(device.options.token.reveal(), "t");
    EXPECT_TRUE(device.options.once);
}

TEST(CommandLine, ARepeatableOptionTakesOneValueAndLeavesThePositionalsAlone) {
    const auto call = parsed<CallTool>({"call", "--arg", "a=1", "sms.send", "{}"});
    EXPECT_EQ(call.tool, "sms.send");
    EXPECT_EQ(call.args, "{}");
}

TEST(CommandLine, AnEmptyOneIsAUsageError) {
    const auto result = parse_command_line({});
    ASSERT_TRUE(std::holds_alternative<ParserOutput>(result));
    EXPECT_EQ(std::get<ParserOutput>(result).exit_code, kExitUsage);
    EXPECT_NE(std::get<ParserOutput>(result).text.find("Call and chat:"), std::string::npos)
        << "and shows the commands under what they are for";
    EXPECT_TRUE(std::get<ParserOutput>(result).is_help);
}

TEST(CommandLine, OptionsThatMostCommandsTakeStandAnywhere) {
    for (const std::vector<const char*>& words :
         {std::vector<const char*>{"--socket", "/s", "-o", "json", "devices", "pair", "--name",
                                   "x"},
          {"--socket=/s", "devices", "-ojson", "pair", "--name", "x"},
          {"devices", "--socket", "/s", "--output=json", "pair", "--name", "x"},
          {"devices", "pair", "--name", "x", "--socket", "/s", "-o", "json"}}) {
        const auto pair = parsed<DevicesPair>(words);
        EXPECT_EQ(pair.target.socket, "/s");
        EXPECT_EQ(pair.output, Output::kJson);
        EXPECT_EQ(pair.name, "x");
    }
    EXPECT_EQ(parsed<CallTool>({"--url", "http://h", "--token", "t", "--ca-file", "/c", "call", "x",
                                "--arg", "a=--url"})
                  .target.url,
              "http://h");
    EXPECT_EQ(parsed<CallTool>({"call", "x", "--arg", "--socket"}).arg,
              std::vector<std::string>{"--socket"})
        << "a value stays a value";
    EXPECT_EQ(parsed<PairRemote>({"--socket", "/s", "pair", "-replace", "tool", "ws://a", "memory"})
                  .target.socket,
              "/s");
    EXPECT_EQ(parsed<GatewayRun>({"--config", "/g.yaml", "gateway", "run"}).config, "/g.yaml");
}

TEST(CommandLine, AnOptionInFrontDoesNotHideTheWordThatIsWrong) {
    const auto result = parse_command_line(std::vector<const char*>{"--socket", "/s", "gatway"});
    ASSERT_TRUE(std::holds_alternative<ParserOutput>(result));
    EXPECT_NE(
        std::get<ParserOutput>(result).text.find("unknown command gatway; did you mean gateway?"),
        std::string::npos)
        << std::get<ParserOutput>(result).text;
}

TEST(Durations, HaveUnitsAndSecondsWithoutOne) {
    for (const auto& [text, expected] : {std::pair{"500ms", Milliseconds(500)},
                                         {"5", Milliseconds(5000)},
                                         {"1.5s", Milliseconds(1500)},
                                         {"2m", Milliseconds(120'000)},
                                         {"1h", Milliseconds(3'600'000)},
                                         {"30d", Milliseconds(2'592'000'000)}}) {
        EXPECT_EQ(parse_duration(text), expected) << text;
    }
    for (const char* text :
         {"", "s", "-1s", "0", "1w", "1 s", "1e3", "nan", "inf", "99999d", "5s5"})
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Durations, AreSaidAsPeopleSayThem) {
    EXPECT_EQ(to_words(850us), "850 µs");
    EXPECT_EQ(to_words(12'340us), "12.3 ms");
    EXPECT_EQ(to_words(4s), "4.0 s");
    EXPECT_EQ(to_words(200s), "3m 20s");
    EXPECT_EQ(to_words(2h + 5min), "2h 5m");
    EXPECT_EQ(to_words(99h), "4d 3h");
}

TEST(CallArguments, ValuesAreJsonWhenTheyReadAsItAndStringsOtherwise) {
    const std::vector<std::string> pairs{"n=3",   "t=true",  "z=null",       "o={\"a\":1}",
                                         "l=[1]", "s=hello", "q=\"quoted\"", "forced:=\"x\"",
                                         "e=",    "eq=a=b",  "p=+49"};
    const auto args = read_call_arguments("", pairs);
    ASSERT_TRUE(args) << args.error().message;
    EXPECT_EQ(
        args->dump(),
        R"({"n":3,"t":true,"z":null,"o":{"a":1},"l":[1],"s":"hello","q":"\"quoted\"","forced":"x",)"
        R"("e":"","eq":"a=b","p":"+49"})");
}

TEST(CallArguments, PairsGoOnTopOfTheObject) {
    EXPECT_EQ(read_call_arguments(R"({"a":1,"b":2})", std::vector<std::string>{"a=5"})->dump(),
              R"({"a":5,"b":2})");
    EXPECT_EQ(read_call_arguments("[]", {}).error().code, ErrorCode::kInvalidArgs);
}

TEST(PolicyFields, SayAnExecutionPolicy) {
    const std::vector<std::string> fields{"network=DENY_ALL", "privilege=minimal", "cpu=300ms",
                                          "wall=2s",          "retries=3",         "backoff=none",
                                          "worktree"};
    const auto policy = read_policy_fields(fields);
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->network_policy, "DENY_ALL");
    EXPECT_EQ(policy->privilege_level, "minimal");
    EXPECT_EQ(policy->budget_cpu, 300ms);
    EXPECT_EQ(policy->budget_wall, 2s);
    EXPECT_EQ(policy->max_retries, 3u);
    EXPECT_EQ(policy->backoff, "none");
    EXPECT_TRUE(policy->worktree_required);
    for (const char* text : {"", "colour=blue", "network", "network=", "retries=few", "retries=3x",
                             "cpu=fast", "worktree=garden"}) {
        EXPECT_EQ(read_policy_fields(std::vector<std::string>{text}).error().code,
                  ErrorCode::kInvalidArgs)
            << text;
    }
}

TEST(Summaries, AreOneLineOfWhatIsKnown) {
    EXPECT_EQ(summary_in_words(json::Value()), "");
    const auto summary = json::Value::parse(
        R"({"status":"ok","frames":1,"bytes":61,"duration_ms":14,"cpu_ms":3,)"
        R"("policy":{"network_policy":"DENY_ALL","privilege_level":"MINIMAL"}})");
    EXPECT_EQ(summary_in_words(*summary),
              "ok · 14.0 ms · CPU 3.0 ms · 61 B in 1 frame · DENY_ALL, MINIMAL");
}

TEST(ExitCodes, EveryErrorCodeHasOne) {
    for (const ErrorCode code : all_error_codes()) {
        EXPECT_NE(exit_code_of(code), kExitOk) << token_of(code);
        EXPECT_EQ(exit_code_of(token_of(code)), exit_code_of(code)) << token_of(code);
    }
}

TEST(Printable, ShowsControlCharactersInsteadOfSendingThem) {
    EXPECT_EQ(printable("a\x1b[31mb\x7f\r\nc\td"), "a\\x1b[31mb\\x7f  c d");
    EXPECT_EQ(printable("a\r\nb\tc", Lines::kKeep), "a\nb\tc");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m \xc3\xa9"),
              "\\x9b31m \xc3\xa9")
        << "C1 controls are controls too, letters are not";
}

TEST(Printable, ShowsWhatHidesOrTurnsOtherText) {
    EXPECT_EQ(printable("a\u202egnp.exe\u200b \U000e0041"),
              "a\\u{202e}gnp.exe\\u{200b} \\u{e0041}");
    EXPECT_EQ(printable("np\u200dm \u200d"), "np\\u{200d}m \\u{200d}");
    const std::string words = "\u0646\u0645\u06cc\u200c\u062f \U0001f469\u200d\U0001f4bb \u2026";
    EXPECT_EQ(printable(words), words) << "some scripts need joiners";
    EXPECT_EQ(printable("\xe2\x80 \xff\xe2"), "\xe2\x80 \xff\xe2") << "no UTF-8 stays as it is";
}

json::Value asked(std::string_view kind) {
    const std::string options =
        kind.ends_with("select")
            ? R"([{"id":"k","label":"Kitchen"},{"id":"c","label":"Cellar","description":"cold"}])"
            : "[]";
    return json::Value::parse(
               fmt::format(
                   R"({{"type":"ask_user_request","request_id":"r","turn_id":"t",)"
                   R"("tool_call_id":"c1","kind":"{}","question":"Which?\u001b[2J","options":{}}})",
                   kind, options))
        .value();
}
/// What a line answers, as JSON; `-` for one that is not an answer, else the status when there is
/// no answer in it.
std::string answered(std::string_view kind, std::string_view line) {
    const auto response = parse_question_answer(asked(kind), line);
    if (!response) return "-";
    const json::Value* const answer = response->find("answer");
    return answer != nullptr ? answer->dump() : text_of(*response, "status");
}

TEST(QuestionText, IsShownWithNumberedOptionsAndWithoutControlCharacters) {
    const auto lines = question_lines(asked("single_select"));
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0].find('\x1b'), std::string::npos);
    EXPECT_TRUE(lines[0].starts_with("? the agent asks: Which?")) << lines[0];
    EXPECT_EQ(lines[1], "  1  Kitchen");
    EXPECT_EQ(lines[2], "  2  Cellar: cold");
}

TEST(QuestionText, ALineIsAnAnswerOfTheQuestionsKindAndAnEmptyOneDeclines) {
    for (const char* kind : {"confirm", "single_select", "multi_select", "text"})
        EXPECT_EQ(answered(kind, " \t"), "declined") << kind;
    EXPECT_EQ(answered("confirm", "y"), "true");
    EXPECT_EQ(answered("confirm", "yes "), "true");
    EXPECT_EQ(answered("confirm", "no"), "declined");
    EXPECT_EQ(answered("confirm", "maybe"), "-");
    EXPECT_EQ(answered("single_select", "2"), R"("c")");
    EXPECT_EQ(answered("single_select", "Kitchen"), R"("k")");
    for (const char* line : {"0", "3", "-1", "1 2", "attic", "99999999999999999999999"})
        EXPECT_EQ(answered("single_select", line), "-") << line;
    EXPECT_EQ(answered("multi_select", "2, 1 2"), R"(["c","k"])");
    EXPECT_EQ(answered("multi_select", "0"), "[]");
    EXPECT_EQ(answered("multi_select", "1 3"), "-");
    EXPECT_EQ(answered("text", " in the cellar "), R"("in the cellar")");
    EXPECT_EQ(answered("text", std::string(1'001, 'x')), "-");
    EXPECT_EQ(parse_question_answer(asked("confirm"), "y")->dump(),
              R"({"type":"ask_user_response","request_id":"r","turn_id":"t","tool_call_id":"c1",)"
              R"("status":"accepted","answer":true})");
}

TEST(Table, AlignsByCharactersNotBytes) {
    Table table({"A", "B"});
    table.add({"é", "1"});
    table.add({"long", "2"});
    EXPECT_EQ(table.to_text(Terminal(std::tmpfile())), "A     B\né     1\nlong  2\n");
}

TEST(PrettyJson, IndentsByTwoAndReadsBackTheSame) {
    const auto value = json::Value::parse(R"({"a":[1,{"b":[]}],"c":{}})").value();
    EXPECT_EQ(pretty(value),
              "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
    EXPECT_EQ(json::Value::parse(pretty(value)).value(), value);
}

}  // namespace
}  // namespace crab::cli
