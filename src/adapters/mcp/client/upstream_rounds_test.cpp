#include "adapters/mcp/client/test_support.hpp"

/// What upstreams ask while a call runs, and tasks: over a child, where both eras can be played.
namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kQuestion =
    R"({"method":"elicitation/create","params":{"message":"Who?","_meta":{"x":1},)"
    R"("requestedSchema":{"type":"object"}}})";

class McpUpstreamRounds : public test::ClientTest {
protected:
    static std::string modern(const std::string& cases) {
        return std::string(test::kModernShell) + cases;
    }
    static std::string input_required(std::string_view questions, std::string_view state) {
        return "say '{\"resultType\":\"input_required\",\"inputRequests\":{" +
               std::string(questions) + "}" +
               (state.empty() ? "" : ",\"requestState\":" + std::string(state)) + "}'";
    }
};

TEST_F(McpUpstreamRounds, AnswersGoBackWithTheStateByteForByte) {
    connect(shell(modern("*inputResponses*) say \"{\\\"got\\\":$line}\";;\n*) " +
                         input_required("\"who\":" + std::string(kQuestion), R"("s\u0041 / =")") +
                         ";;")));
    const std::string got = outcome(call("ask"));
    EXPECT_NE(got.find(R"("inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}},)"
                       R"("requestState":"s\u0041 / =")"),
              std::string::npos)
        << got;
    EXPECT_NE(got.find(R"("id":3)"), std::string::npos) << "a new id: " << got;
    ASSERT_EQ(person.asked.size(), 1u);
    EXPECT_EQ(person.asked[0], R"(who elicitation/create {"message":"[files] Who?",)"
                               R"("requestedSchema":{"type":"object"}})");
}

TEST_F(McpUpstreamRounds, WithoutStateNoneIsSentAndStateAloneIsARoundToo) {
    connect(shell(modern("*inputResponses*) say \"{\\\"got\\\":$line}\";;\n*requestState*) " +
                         input_required("\"who\":" + std::string(kQuestion), "") + ";;\n*) " +
                         input_required("", R"("one")") + ";;")));
    const std::string got = outcome(call("ask"));
    EXPECT_NE(got.find("Ada"), std::string::npos) << got;
    EXPECT_EQ(got.find("requestState"), std::string::npos) << got;
}

TEST_F(McpUpstreamRounds, TheEleventhRoundFails) {
    connect(shell(modern("*) " + input_required("\"who\":" + std::string(kQuestion), "") + ";;")));
    EXPECT_EQ(outcome(call("ask")), "error TOOL_FAILED");
    EXPECT_EQ(person.asked.size(), 10u);
}

TEST_F(McpUpstreamRounds, WhatNobodyDeclaredIsNotAsked) {
    connect(shell(modern(
        "*) " +
        input_required(R"("m":{"method":"sampling/createMessage","params":{"messages":[]}})", "") +
        ";;")));
    EXPECT_EQ(outcome(call("ask")), "error TOOL_FAILED");
    EXPECT_TRUE(person.asked.empty());
    UpstreamRequest nobody = call("ask");
    nobody.inquirer = nullptr;
    EXPECT_EQ(outcome(std::move(nobody)), "error TOOL_FAILED");
}

TEST_F(McpUpstreamRounds, OneThatIsNotAnsweredInTimeIsACancel) {
    connect(shell(modern("*inputResponses*) say \"{\\\"got\\\":$line}\";;\n*) " +
                         input_required("\"who\":" + std::string(kQuestion), "") + ";;")));
    person.answer = fail(ErrorCode::kTimeout, "nobody came");
    EXPECT_NE(outcome(call("ask")).find(R"({"who":{"action":"cancel"}})"), std::string::npos);
    person.answer = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_EQ(outcome(call("ask")), "error TOOL_FAILED");
}

TEST_F(McpUpstreamRounds, ResponsesOfTheCallerItselfAreForwardedAsTheyAre) {
    connect(shell(modern(R"(*) say "{\"got\":$line}";;)")));
    UpstreamRequest request = call("ask");
    request.input_responses = R"({"a":{"x": 1}})";
    request.request_state = R"("opaque")";
    EXPECT_NE(outcome(std::move(request))
                  .find(R"("inputResponses":{"a":{"x": 1}},"requestState":"opaque")"),
              std::string::npos);
}

TEST_F(McpUpstreamRounds, UnknownResultTypesFail) {
    connect(shell(modern(R"(*) say '{"resultType":"surprise"}';;)")));
    EXPECT_EQ(outcome(call("x")), "error TOOL_FAILED");
}

TEST_F(McpUpstreamRounds, ATaskIsFollowedToItsEndAndFedWhatItAsks) {
    connect(shell(modern(
        R"(*tasks/update*) fed=$line; say '{"resultType":"complete"}';;
*tasks/get*) if [ -z "$fed" ]; then say '{"resultType":"complete","taskId":"t1",)"
        R"("status":"input_required","statusMessage":"half","pollIntervalMs":1,)"
        R"("inputRequests":{"who":)" +
        std::string(kQuestion) +
        R"(}}';
else say "{\"resultType\":\"complete\",\"taskId\":\"t1\",\"status\":\"completed\",)"
        R"(\"result\":{\"fed\":$fed}}"; fi;;
*) say '{"resultType":"task","taskId":"t1","status":"working","statusMessage":"begun",)"
        R"("ttlMs":null,"pollIntervalMs":1}';;)")));
    const std::string got = outcome(call("slow"));
    EXPECT_NE(got.find(R"("params":{"taskId":"t1","inputResponses":{"who":{"action":"accept")"),
              std::string::npos)
        << got;
    EXPECT_EQ(told.all, (std::vector<std::string>{"deferred", "progress begun", "progress half"}));
    EXPECT_EQ(person.asked.size(), 1u);
}

TEST_F(McpUpstreamRounds, ATaskThatFailsIsAnErrorAndOneThatTakesTooLongIsCancelled) {
    connect(shell(modern(
        R"(*tasks/cancel*) gone=1; say '{"resultType":"complete"}';;
*tasks/get*) if [ "$mode" = bad ]; then say '{"resultType":"complete","taskId":"t",)"
        R"("status":"failed","error":{"code":-32602,"message":"no"}}';
else say '{"resultType":"complete","taskId":"t","status":"working"}'; fi;;
*bad*) mode=bad; say '{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":1}';;
*gone*) say "{\"gone\":\"$gone\"}";;
*) mode=slow; say '{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":1}';;)")));
    EXPECT_EQ(outcome(call("bad")), "rpc -32602");
    UpstreamRequest slow = call("slow");
    slow.deadline = clock.steady_now() + 700ms;
    EXPECT_EQ(outcome(std::move(slow)), "error TIMEOUT");
    EXPECT_EQ(outcome(call("gone")), R"({"gone":"1"})");
}

TEST_F(McpUpstreamRounds, AToolMayBeATaskWhereTheServerHasThemAndItsCallerCanWait) {
    const auto legacy = [](std::string_view capabilities) {
        return fmt::format(R"(*'"server/discover"'*) fail '{{"code":-32601,"message":"unknown"}}';;
*'"initialize"'*) say '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}{}}},)"
                           R"("serverInfo":{{"name":"fake"}}}}';;
*'"notifications/initialized"'*) ;;
*'"tasks/get"'*) say '{{"taskId":"t","status":"completed"}}';;
*'"tasks/result"'*) say '{{"of":"the task"}}';;
*'"task":{{"ttl":'*) say '{{"task":{{"taskId":"t","status":"working","pollInterval":500}}}}';;
*) say '{{"of":"a call"}}';;)",
                           capabilities);
    };
    const auto use = [&](TaskUse how) {
        UpstreamRequest request = call("x");
        request.task_use = how;
        return outcome(std::move(request));
    };
    connect(shell(legacy(R"(,"tasks":{"requests":{"tools":{"call":{}}}})")));
    EXPECT_EQ(use(TaskUse::kIfDeclared), R"({"of":"the task"})");
    EXPECT_EQ(told.all, std::vector<std::string>{"deferred"});
    EXPECT_EQ(use(TaskUse::kNone), R"({"of":"a call"})");
    wait(session->close());
    loop.run([this] { session.reset(); });
    connect(shell(legacy(R"(,"tasks":{"list":{}})")));
    EXPECT_EQ(use(TaskUse::kIfDeclared), R"({"of":"a call"})");
    EXPECT_EQ(use(TaskUse::kAlways), R"({"of":"the task"})");
}

TEST_F(McpUpstreamRounds, ALegacyServersQuestionsGoToTheOnlyCallOfAnInteractiveChild) {
    const std::string cases = std::string(test::kLegacyShell) +
                              R"(*'"ping"'*) ;;
*'"id":"q"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"answer":%s}}\n' "$call" "$line";;
*) call=$id; printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
                              R"("params":{"message":"Who?"}}\n';;)";
    UpstreamOptions interactive = shell(cases);
    interactive.interactive = true;
    connect(std::move(interactive), person.can);
    EXPECT_EQ(outcome(call("x")), R"({"answer":{"jsonrpc":"2.0","id":"q","result":)"
                                  R"({"action":"accept","content":{"name":"Ada"}}}})");
    wait(session->close());
    loop.run([this] { session.reset(); });
    connect(shell(cases), person.can);
    EXPECT_NE(outcome(call("x")).find("-32603"), std::string::npos) << "nobody's question";
    EXPECT_EQ(person.asked.size(), 1u);
}

TEST_F(McpUpstreamRounds, OutsideOfCallsAServerHasNothingToAskBy) {
    UpstreamOptions interactive = shell(
        std::string(test::kLegacyShell) +
        R"(*'"id":"q"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"got":%s}}\n' "$call" "$line";;
*'"tools/list"'*) call=$id; printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
        R"("params":{"message":"Who?"}}\n';;)");
    interactive.interactive = true;
    connect(std::move(interactive), person.can);
    UpstreamRequest list = call("x");
    list.method = "tools/list";
    EXPECT_NE(outcome(std::move(list)).find("-32601"), std::string::npos);
    EXPECT_TRUE(person.asked.empty());
}

TEST_F(McpUpstreamRounds, AListThatIsReadMeanwhileTakesNoQuestionFromACall) {
    UpstreamOptions interactive = shell(std::string(test::kLegacyShell) +
                                        R"(*'"tools/list"'*) ;;
*'"id":"q"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"answer":1}}\n' "$call";;
*) call=$id; printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
                                        R"("params":{"message":"Who?"}}\n';;)");
    interactive.interactive = true;
    connect(std::move(interactive), person.can);
    UpstreamRequest list;
    list.method = "tools/list";
    list.deadline = clock.steady_now() + 1s;
    auto listing = begin(session->request(std::move(list)));
    EXPECT_EQ(outcome(call("x")), R"({"answer":1})");
    EXPECT_EQ(listing.get().error().code, ErrorCode::kTimeout);
}

TEST(McpUpstreamQuestion, PeopleAreAskedToOpenSafeUrlsOnly) {
    const auto code = [](const std::string& params) -> std::int64_t {
        const auto question = upstream_question("files", "k", "elicitation/create", params);
        return question ? 0 : question.error().code;
    };
    EXPECT_EQ(code(R"({"mode":"url","message":"m","url":"https://example.com/x"})"), 0);
    EXPECT_EQ(code(R"({"mode":"url","message":"m","url":"http://localhost:8/x"})"), 0);
    for (const char* url : {"http://evil.example/", "javascript:x()", "file:///etc/passwd", ""})
        EXPECT_EQ(code(fmt::format(R"({{"mode":"url","message":"m","url":"{}"}})", url)), -32602);
    EXPECT_EQ(code(R"({"mode":"url","message":"m"})"), -32602);
    EXPECT_EQ(code(R"({"mode":"form2","message":"m"})"), -32602);
    EXPECT_EQ(code(R"({"mode":7,"message":"m"})"), -32602);
    EXPECT_EQ(code(R"({"message":"m","x":")" + std::string(200'000, 'x') + "\"}"), -32602);
}

TEST(McpUpstreamQuestion, AFormShowsItsSourceWhateverItSays) {
    const auto params = [](std::string_view text) {
        return upstream_question("files", "k", "elicitation/create", text).value().params;
    };
    EXPECT_EQ(params(R"({"requestedSchema":{}})"),
              R"({"message":"[files] ","requestedSchema":{}})");
    EXPECT_EQ(params(R"({"message":7})"), R"({"message":"[files] "})");
    EXPECT_EQ(params("{\"message\":\"\u202E\u200Bhi\",\"_meta\":{}}"),
              R"({"message":"[files] hi"})");
}

TEST_F(McpUpstreamRounds, ATaskMayNotAskWithoutEnd) {
    connect(shell(modern(
        R"(*tasks/update*) say '{"resultType":"complete"}';;
*tasks/get*) n=$((n+1)); say '{"resultType":"complete","taskId":"t1",)"
        R"("status":"input_required","pollIntervalMs":1,"inputRequests":{"k'$n'":)" +
        std::string(kQuestion) + R"(}}';;
*) say '{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":1}';;)")));
    EXPECT_EQ(outcome(call("slow")), "error TOOL_FAILED");
    EXPECT_EQ(person.asked.size(), 10u);
}

TEST(McpUpstreamQuestion, ALegacyServerMaySuggestTheKeyOfItsQuestion) {
    EXPECT_EQ(suggested_key(R"({"_meta":{"crab/inputKey":"user_name"},"message":"Who?"})"),
              "user_name");
    EXPECT_EQ(suggested_key(R"({"_meta":{"crab/inputKey":"user name"}})"), "");
    EXPECT_EQ(suggested_key(R"({"_meta":{"crab/inputKey":7}})"), "");
    EXPECT_EQ(suggested_key(R"({"_meta":{"crab/inputKey":""}})"), "");
    EXPECT_EQ(
        suggested_key(fmt::format(R"({{"_meta":{{"crab/inputKey":"{}"}}}})", std::string(65, 'a'))),
        "");
    EXPECT_EQ(suggested_key(R"({"_meta":[]})"), "");
    EXPECT_EQ(suggested_key(R"({})"), "");
    EXPECT_EQ(suggested_key(""), "");
}

TEST(McpUpstreamQuestion, PagesThatMayNotBeShownAreNotAskedFor) {
    constexpr std::string_view kMethod = "elicitation/create";
    EXPECT_TRUE(upstream_question("x", "", kMethod, R"({"mode":"url","url":"https://a.b/c"})"));
    EXPECT_FALSE(upstream_question("x", "", kMethod, R"({"mode":"url","url":"file:///etc"})"));
    EXPECT_FALSE(upstream_question("x", "", kMethod, R"({"mode":"url"})"));
}

TEST_F(McpUpstreamRounds, AnAnswerThatComesFirstEndsTheQuestion) {
    UpstreamOptions options =
        shell(std::string(test::kLegacyShell) +
              R"(*) printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
              R"("params":{"message":"Who?"}}\n'; say '{"done":1}';;)");
    options.interactive = true;
    person.hangs = true;
    connect(std::move(options), person.can);
    EXPECT_EQ(outcome(call("x")), R"({"done":1})");
}

TEST_F(McpUpstreamRounds, APingIsAnsweredAndALevelIsToldToALegacyServer) {
    connect(shell(std::string(R"(*setLevel*) level=$line; say '{}';;
*'"id":77'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"pong":%s,"level":%s}}\n' "$call" )"
                              R"("$line" "$level";;
)") + std::string(test::kLegacyShell) +
                  R"(*) call=$id; echo '{"jsonrpc":"2.0","id":77,"method":"ping"}';;)"));
    told.level = "warning";
    const std::string got = outcome(call("x"));
    EXPECT_NE(got.find(R"("pong":{"jsonrpc":"2.0","id":77,"result":{}})"), std::string::npos);
    EXPECT_NE(got.find(R"("params":{"level":"warning"})"), std::string::npos) << got;
}

}  // namespace
}  // namespace crab::mcp
