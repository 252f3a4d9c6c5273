#include "agent/history.hpp"
#include "agent/test_agent_world.hpp"
#include "base/test_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::agent {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

class AgentTest : public testing::Test {
protected:
    AgentTest() {
        world.say = [this](const ModelRequest& request, AnswerSink& sink,
                           Deadline) -> Task<Result<ModelAnswer>> {
            std::vector<std::string> offered;
            for (const OfferedToolRef& tool : request.tools) offered.push_back(tool->name);
            asked.push_back({.messages = request.messages,
                             .tools = std::move(offered),
                             .may_call = request.may_call});
            if (script.empty()) co_return says("ok");
            ModelAnswer answer = std::move(script.front());
            script.pop_front();
            if (!answer.text.empty()) sink.on_text(answer.text);
            co_return answer;
        };
    }
    struct Asked {
        Conversation messages;
        std::vector<std::string> tools;
        bool may_call;
    };
    std::shared_ptr<World::Running> turn(std::string content = "?", std::string persona = {}) {
        auto running = world.start(std::move(content), std::move(persona));
        world.settle();
        return running;
    }
    FakeClock clock;
    World world{clock};
    std::deque<ModelAnswer> script;
    std::vector<Asked> asked;
};

TEST_F(AgentTest, AnswersAndTellsEachStepInOrder) {
    world.add_tool("add", [](std::string_view args, const core::Principal&) -> core::Outcome {
        return core::ToolResult{.kind = core::ContentKind::kText,
                                .content = "sum of " + std::string(args)};
    });
    script = {ModelAnswer{.text = "I add. ",
                          .requests = {{.id = "1", .tool = "add", .args = R"({"a":1})"},
                                       {.id = "2", .tool = "add", .args = ""}}},
              says("Done.")};
    const auto running = turn("add it");
    ASSERT_TRUE(running->answer && *running->answer);
    EXPECT_EQ(**running->answer, "I add. Done.");
    EXPECT_THAT(running->told.lines,
                ElementsAre("chunk I add. ", R"(call add {"a":1})", "call add {}",
                            R"(result add sum of {"a":1})", "result add sum of {}", "chunk Done."));
    EXPECT_THAT(running->told.kept, ElementsAre("assistant", "tool", "tool"));
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0].messages.back().text, "add it");
    EXPECT_EQ(asked[1].messages.size(), 4u);
    EXPECT_EQ(world.metrics.tool_calls.value(), 2u);
}

TEST_F(AgentTest, MoreCallsThanADeviceTakesAtOnceAreMadeInBatches) {
    std::size_t made = 0;
    world.add_tool(
        "count", [&made](std::string_view args, const core::Principal&) -> core::Outcome {
            ++made;
            return core::ToolResult{.kind = core::ContentKind::kText, .content = std::string(args)};
        });
    std::vector<ToolRequest> wanted;
    for (int i = 0; i < 150; ++i)
        wanted.push_back({.id = fmt::format("c{}", i),
                          .tool = "count",
                          .args = fmt::format(R"({{"n":{}}})", i)});
    script = {calls(std::move(wanted)), says("Done.")};
    const auto running = turn("count them");
    ASSERT_TRUE(running->answer && *running->answer);
    EXPECT_EQ(made, 150u);
    ASSERT_EQ(running->told.lines.size(), 301u);
    EXPECT_EQ(running->told.lines[150], R"(result count {"n":0})");
    EXPECT_EQ(running->told.lines[299], R"(result count {"n":149})");
}

TEST_F(AgentTest, OffersTheToolsThatThereAreAtEachRequest) {
    world.add_tool("first", [this](std::string_view, const core::Principal&) -> core::Outcome {
        world.add_tool("second", [](std::string_view, const core::Principal&) -> core::Outcome {
            return core::ToolResult{};
        });
        world.drop_tool("first");
        return core::ToolResult{};
    });
    script = {calls({{.id = "1", .tool = "first", .args = "{}"}}),
              calls({{.id = "2", .tool = "first", .args = "{}"}}), says("ok")};
    const auto running = turn();
    EXPECT_THAT(asked[0].tools, ElementsAre("first"));
    EXPECT_THAT(asked[1].tools, ElementsAre("second"));
    EXPECT_THAT(running->told.lines[3], HasSubstr("Error: TOOL_NOT_FOUND: "));
}

TEST_F(AgentTest, ACancelledTurnEndsAsCancelledWhateverTheModelThenSays) {
    Waiter* waiting = nullptr;
    world.say = [&](const ModelRequest&, AnswerSink&, Deadline) -> Task<Result<ModelAnswer>> {
        Waiter waiter(world.loop.timers());
        waiting = &waiter;
        (void)co_await waiter.wait(kNoDeadline);
        waiting = nullptr;
        co_return says("too late");
    };
    const auto running = turn();
    ASSERT_NE(waiting, nullptr);
    world.loop.post([&] { running->signal.emit(); });
    world.settle();
    ASSERT_TRUE(running->answer);
    EXPECT_EQ(running->answer->error().code, ErrorCode::kCancelled);
}

TEST_F(AgentTest, AnAnswerAfterTheDeadlineIsATimeoutIfItIsAnError) {
    world.options.turn_timeout = 5s;
    world.say = [&](const ModelRequest&, AnswerSink&,
                    Deadline deadline) -> Task<Result<ModelAnswer>> {
        EXPECT_EQ(deadline, clock.steady_now() + 5s);
        clock.advance(6s);
        co_return fail(ErrorCode::kUnavailable, "gone");
    };
    EXPECT_EQ(turn()->answer->error().code, ErrorCode::kTimeout);
    EXPECT_EQ(world.metrics.failed_turns.value(), 1u);
}

TEST_F(AgentTest, TheLastRoundIsAskedWithoutCalls) {
    world.options.max_rounds = 2;
    script = {calls({{.id = "1", .tool = "x", .args = "{}"}}),
              calls({{.id = "2", .tool = "x", .args = "{}"}}), says("never")};
    EXPECT_EQ(turn()->answer->error().code, ErrorCode::kInternal);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_TRUE(asked[0].may_call);
    EXPECT_FALSE(asked[1].may_call);
}

TEST_F(AgentTest, AModelThatSaysNothingIsAFailure) {
    script = {says("")};
    EXPECT_EQ(turn()->answer->error().code, ErrorCode::kUnavailable);
}

TEST_F(AgentTest, WithMoreToolsThanTheBudgetTheModelFindsThemAndCallsWhatItFound) {
    world.options.max_tools = 3;
    world.options.pinned = {Glob("t0")};
    for (int i = 0; i < 10; ++i)
        world.add_tool("t" + std::to_string(i),
                       [i](std::string_view, const core::Principal&) -> core::Outcome {
                           return core::ToolResult{.kind = core::ContentKind::kText,
                                                   .content = std::to_string(i)};
                       });
    world.index.found = {"t7", "t3"};
    script = {calls({{.id = "1", .tool = "find_tools", .args = R"({"query":"seven"})"}}),
              calls({{.id = "2", .tool = "t7", .args = "{}"}}), says("seven")};
    const auto running = turn();
    EXPECT_THAT(asked.at(0).tools, ElementsAre("t0", "find_tools"));
    EXPECT_THAT(asked.at(1).tools, ElementsAre("t0", "t7", "find_tools"))
        << "t3 goes beyond the budget";
    EXPECT_EQ(world.index.asked, "seven");
    EXPECT_THAT(running->told.lines,
                ElementsAre("call find_tools {\"query\":\"seven\"}", HasSubstr(R"("name":"t7")"),
                            "call t7 {}", "result t7 7", "chunk seven"));
    EXPECT_EQ(world.metrics.searched_turns.value(), 1u);
    const ToolRequest called{.id = "9", .tool = "t7", .args = "{}"};
    world.keep({.role = "assistant",
                .content = "",
                .created_at = {},
                .extra = requests_extra(std::span(&called, 1))});
    turn("again");
    EXPECT_THAT(asked.back().tools, ElementsAre("t0", "t7", "find_tools"))
        << "what the conversation has called stays on offer";
}

TEST_F(AgentTest, TheBudgetOfTokensCountsAsWell) {
    for (int i = 0; i < 10; ++i)
        world.add_tool("t" + std::to_string(i),
                       [](std::string_view, const core::Principal&) -> core::Outcome {
                           return core::ToolResult{};
                       });
    turn();
    EXPECT_EQ(asked.at(0).tools.size(), 10u);
    world.options.tool_tokens = 100;
    turn();
    EXPECT_THAT(asked.at(1).tools, ElementsAre("find_tools"));
}

TEST_F(AgentTest, AToolThatIsReallyCalledFindToolsIsCalledWhileNothingIsLeftOut) {
    world.add_tool("find_tools", [](std::string_view, const core::Principal&) -> core::Outcome {
        return core::ToolResult{.kind = core::ContentKind::kText, .content = "mine"};
    });
    script = {calls({{.id = "1", .tool = "find_tools", .args = R"({"query":"x"})"}})};
    EXPECT_EQ(turn()->told.lines.at(1), "result find_tools mine");
}

TEST_F(AgentTest, OnlyAsMuchHistoryIsReadAsHasRoom) {
    world.options.context_tokens = 100;
    for (const char* question : {"old", "new"}) {
        world.keep({.role = "user", .content = question});
        world.keep({.role = "assistant", .content = std::string(300, '.')});
    }
    turn("now");
    ASSERT_EQ(asked.at(0).messages.size(), 1u)
        << "with our instructions not even the turn before fits";
    world.options.instructions = "short";
    turn("then");
    EXPECT_EQ(asked.at(1).messages.front().text, "new")
        << "and what was before that is not even read";
}

TEST_F(AgentTest, AQuestionThatTheStoreDoesNotHaveIsAskedAllTheSame) {
    (void)world.chats.open({.id = ChatSessionId("s1"), .owner = "somebody else"});
    const auto running = turn("hello?");
    EXPECT_TRUE(running->answer && *running->answer);
    EXPECT_EQ(asked.at(0).messages.back().text, "hello?");
}

TEST_F(AgentTest, AnAgentSeesAndCallsTheToolsOfItsScopeAlone) {
    AgentOptions butler = world.options;
    butler.name = "butler";
    butler.instructions = "serve";
    butler.tools = core::ToolScope({Glob("tray.*")}, {Glob("tray.drop")});
    world.agents->named.emplace("butler", butler);
    std::vector<std::string> made;
    for (const char* name : {"tray.carry", "tray.drop", "shell"}) {
        world.add_tool(name,
                       [&made, name](std::string_view, const core::Principal&) -> core::Outcome {
                           made.emplace_back(name);
                           return core::ToolResult{};
                       });
    }
    script = {calls({{.id = "1", .tool = "tray.drop", .args = "{}"},
                     {.id = "2", .tool = "shell", .args = "{}"},
                     {.id = "3", .tool = "tray.carry", .args = "{}"}})};
    const auto running = turn("serve tea", "butler");
    EXPECT_THAT(asked.at(0).tools, ElementsAre("tray.carry"));
    EXPECT_THAT(made, ElementsAre("tray.carry"));
    EXPECT_THAT(running->told.lines[3], HasSubstr("Error: TOOL_NOT_FOUND: "));
    EXPECT_THAT(running->told.lines[4], HasSubstr("Error: TOOL_NOT_FOUND: "));
    EXPECT_EQ(world.agent.agent_of("butler").model, "parrot");
}

TEST_F(AgentTest, NobodyTakesThePlaceOfAnAgentThatIsNotConfiguredAnyMore) {
    const auto running = turn("hello", "butler");
    EXPECT_EQ(running->answer->error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(asked.empty());
}

TEST_F(AgentTest, APrincipalWithoutATenantIsOfferedTheToolsThatItsCallsReach) {
    for (const char* tenant : {"default", "harbour"}) {
        core::ToolSpec spec;
        spec.name = fmt::format("crane_of_{}", tenant);
        spec.input_schema = R"({"type":"object"})";
        auto tool = core::make_tool(std::move(spec)).value();
        tool->tenant = TenantId(tenant);
        tool->host = std::make_shared<core::FunctionHost>(
            [](std::string_view, const core::Principal&) -> core::Outcome {
                return core::ToolResult{};
            });
        const std::vector<core::ToolRef> tools{std::move(tool)};
        world.registry.change(ConnectionId{}, tools, {});
    }
    turn();
    EXPECT_THAT(asked.at(0).tools, ElementsAre("crane_of_default"));
    world.options.tenant = "harbour";
    turn();
    EXPECT_THAT(asked.at(1).tools, ElementsAre("crane_of_harbour"));
}

}  // namespace
}  // namespace crab::agent
