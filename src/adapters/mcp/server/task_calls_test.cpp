#include "adapters/mcp/server/test_support.hpp"

#include "base/scope_exit.hpp"
#include "base/task/task_group.hpp"
#include "core/call/long_call.hpp"
#include "json/raw_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kTasks = R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";
constexpr std::string_view kTasksAndForms =
    R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";

/// Asks two questions at once.
class TwoQuestionsHost final : public core::ToolHost {
public:
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink&) override {
        core::long_call_of(call.call())->on_deferred({});
        TaskGroup both((co_await this_chain()).executor());
        std::array<std::string, 2> answers;
        const auto ask = [&call, &answers](std::size_t i) -> Task<void> {
            core::Question question{.kind = core::Question::Kind::kForm,
                                    .key = i == 0 ? "first" : "second",
                                    .method = "elicitation/create",
                                    .params = test::AskingHost::kForm};
            answers.at(i) = (co_await call.call().inquirer->ask(std::move(question))).value_or("");
        };
        both.spawn("first question", ask(0));
        both.spawn("second question", ask(1));
        Waiter pause(net::EventLoop::current()->timers());
        while (answers[0].empty() || answers[1].empty())
            co_await pause.wait(net::EventLoop::current()->now() + Milliseconds(2));
        core::ToolResult result;
        result.content = answers[0] + answers[1];
        co_return result;
    }
};

/// Says that it takes long, then waits at a gate.
class DeferringGate final : public core::ToolHost {
public:
    explicit DeferringGate(test::GateHost& gate) : gate_(gate) {}
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override {
        core::long_call_of(call.call())->on_deferred({});
        return gate_.run(call, sink);
    }

private:
    test::GateHost& gate_;
};

/// Says at once that it takes long, then asks `rounds` times.
class LongAskingHost final : public core::ToolHost {
public:
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override {
        resumed = core::resumed_by(call.call());
        core::long_call_of(call.call())->on_deferred("upstream-7");
        sink.on_progress({.message = "halfway", .progress = {}, .total = {}});
        for (int i = 0; i < rounds; ++i) {
            core::Question question{.kind = core::Question::Kind::kForm,
                                    .key = "name",
                                    .method = "elicitation/create",
                                    .params = test::AskingHost::kForm};
            const auto answer = co_await call.call().inquirer->ask(std::move(question));
            if (!answer) co_return fail(answer.error());
            heard += *answer;
        }
        core::ToolResult result;
        result.content = "heard " + heard;
        co_return result;
    }
    std::atomic<int> rounds = 2;
    std::string heard, resumed;
};

struct McpTaskCalls : test::ServerTest {
    explicit McpTaskCalls(Milliseconds after = Milliseconds(20),
                          Milliseconds patience = Milliseconds(10'000))
        : ServerTest([&] {
              ServerOptions options = quiet();
              options.task_after = after;
              options.task_patience = patience;
              return options;
          }()) {
        offer("long", longer);
    }
    struct Asked {
        std::string_view method = "tools/call", params = R"("name":"gate")", name = "gate",
                         capabilities = kTasks, who = "ann";
        std::size_t part = 0;
    };
    std::string body_of(const Asked& asked) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":"q1","method":"{}","params":{{"_meta":{{)"
                           R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientCapabilities":{}}},{}}}}})",
                           asked.method, asked.capabilities, asked.params);
    }
    std::string fields_of(const Asked& asked) {
        return fmt::format("{}Authorization: Bearer {}\r\n",
                           modern_fields(asked.method, asked.name), asked.who);
    }
    std::string send(const Asked& asked) {
        return ask("POST", fields_of(asked), body_of(asked), asked.part).body;
    }
    std::string about(std::string_view method, const std::string& id, std::string_view more = "",
                      std::string_view who = "ann", std::size_t part = 0) {
        const std::string params = fmt::format(R"("taskId":"{}"{})", id, more);
        return send({.method = method, .params = params, .name = id, .who = who, .part = part});
    }
    std::string get(const std::string& id, std::size_t part = 0) {
        return about("tasks/get", id, "", "ann", part);
    }
    static std::string id_of(const std::string& body) {
        const auto result = json::find_raw(body, "result").value_or("");
        return json::find_raw_string(result, "taskId").value_or("");
    }
    static std::string status_of(const std::string& body) {
        const auto result = json::find_raw(body, "result").value_or("");
        return json::find_raw_string(result, "status").value_or("");
    }
    bool comes_to(const std::string& id, std::string_view status) {
        return until([&] { return status_of(get(id)) == status; });
    }
    std::shared_ptr<LongAskingHost> longer = std::make_shared<LongAskingHost>();
};

TEST_F(McpTaskCalls, ASlowCallBecomesATaskWhoseResultIsInIt) {
    const std::string made = send({});
    for (const std::string_view part :
         {R"("resultType":"task")", R"("status":"working")", R"("createdAt":"20)",
          R"("lastUpdatedAt":"20)", R"("ttlMs":86400000)", R"("pollIntervalMs":2000)"})
        EXPECT_THAT(made, HasSubstr(part));
    for (const std::string_view no : {R"("result":{"content)", "inputRequests", "requestState"})
        EXPECT_THAT(made, Not(HasSubstr(no)));
    const std::string id = id_of(made);
    ASSERT_EQ(id.size(), 32u);
    EXPECT_TRUE(task_rows.find(id).value()) << "it is durable before its client hears of it";
    EXPECT_THAT(get(id, 1), AllOf(HasSubstr(R"("resultType":"complete")"),
                                  HasSubstr(R"("status":"working")"), Not(HasSubstr("content"))));
    gate->open = true;
    ASSERT_TRUE(comes_to(id, "completed"));
    EXPECT_THAT(get(id), HasSubstr(R"("result":{"content":[{"type":"text","text":"through)"));
    EXPECT_EQ(gate->started, 1);
    EXPECT_TRUE(task_rows.find(id).value()->ended);
    EXPECT_TRUE(task_rows.find(id).value()->request.empty());
}

TEST_F(McpTaskCalls, QuickCallsAndClientsWithoutTheExtensionGetTheirResult) {
    gate->open = true;
    const std::string quick = send({.params = R"("name":"echo")", .name = "echo"});
    EXPECT_THAT(quick, AllOf(HasSubstr("echo {}"), HasSubstr(R"("resultType":"complete")")));
    gate->open = false;
    auto client = begin("POST", fields_of({}), body_of({.capabilities = "{}"}));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    gate->open = true;
    EXPECT_THAT(client->read_response(), HasSubstr("through the gate"));
}

TEST_F(McpTaskCalls, MethodsNeedTheExtensionAndRemovedOnesAreUnknown) {
    const std::string id(32, '0');
    const std::string params = fmt::format(R"("taskId":"{}","inputResponses":{{}})", id);
    for (const std::string_view method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
        EXPECT_THAT(send({.method = method, .params = params, .name = id, .capabilities = "{}"}),
                    AllOf(HasSubstr(R"("code":-32021)"),
                          HasSubstr(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})")));
        EXPECT_THAT(send({.method = method, .params = params, .name = id}),
                    HasSubstr(R"("code":-32602)"));
    }
    for (const std::string_view method : {"tasks/result", "tasks/list"})
        EXPECT_THAT(send({.method = method, .params = params, .name = {}}),
                    HasSubstr(R"("code":-32601)"));
    EXPECT_THAT(send({.method = "server/discover", .params = R"("x":1)", .name = {}}),
                HasSubstr(R"("extensions":{"io.modelcontextprotocol/tasks":{}})"));
}

TEST_F(McpTaskCalls, ATaskOfAnotherPrincipalIsUnknown) {
    const std::string id = id_of(send({}));
    for (const std::string_view method : {"tasks/get", "tasks/cancel"})
        EXPECT_THAT(about(method, id, "", "bob"), HasSubstr(R"("code":-32602)"));
    EXPECT_THAT(about("tasks/update", id, R"(,"inputResponses":{})", "bob"),
                HasSubstr(R"("code":-32602)"));
    EXPECT_EQ(status_of(get(id)), "working");
    gate->open = true;
}

TEST_F(McpTaskCalls, CancellingTakesEffectLaterAndIsNoErrorAfterTheEnd) {
    const std::string id = id_of(send({}));
    const std::string acknowledged = about("tasks/cancel", id);
    EXPECT_THAT(acknowledged,
                AllOf(HasSubstr(R"("resultType":"complete")"), Not(HasSubstr("status"))));
    ASSERT_TRUE(comes_to(id, "cancelled"));
    EXPECT_EQ(gate->cancelled, 1);
    EXPECT_THAT(get(id), AllOf(Not(HasSubstr(R"("result":{"content)")), Not(HasSubstr("error"))));
    EXPECT_THAT(about("tasks/cancel", id), HasSubstr(R"("resultType":"complete")"));
}

TEST_F(McpTaskCalls, WhatATaskAsksIsInItAndItsKeysAreUsedOnce) {
    const Asked call{.params = R"("name":"long")", .name = "long", .capabilities = kTasksAndForms};
    const std::string id = id_of(send(call));
    ASSERT_FALSE(id.empty());
    EXPECT_TRUE(until([&] { return task_rows.find(id).value()->resume == "upstream-7"; }));
    ASSERT_TRUE(comes_to(id, "input_required"));
    EXPECT_THAT(get(id), AllOf(HasSubstr(R"("inputRequests":{"name":{"method")"),
                               HasSubstr(R"("statusMessage":"halfway")")));
    // unknown keys and answers that do not fit are ignored
    for (const std::string_view no :
         {R"({"other":{"action":"accept"}})", R"({"name":{"action":"accept","content":{}}})",
          R"({"name":7})"})
        EXPECT_THAT(about("tasks/update", id, fmt::format(R"(,"inputResponses":{})", no)),
                    HasSubstr(R"("resultType":"complete")"));
    EXPECT_EQ(status_of(get(id)), "input_required");
    about("tasks/update", id, R"(,"inputResponses":{"name":{"action":"decline"}})", "ann", 1);
    ASSERT_TRUE(until([&] { return get(id).contains(R"("inputRequests":{"nameq2")"); }));
    // the first key is spent
    about("tasks/update", id, R"(,"inputResponses":{"name":{"action":"cancel"}})");
    EXPECT_EQ(status_of(get(id)), "input_required");
    about("tasks/update", id, R"(,"inputResponses":{"nameq2":{"action":"cancel"}})");
    ASSERT_TRUE(comes_to(id, "completed"));
    EXPECT_EQ(longer->heard, R"({"action":"decline"}{"action":"cancel"})");
    audit.flush_and_wait();
    EXPECT_THAT(records->records().back(), HasSubstr(R"("input_rounds":2,)"));
}

TEST_F(McpTaskCalls, PartialAnswersAreKept) {
    offer("both", std::make_shared<TwoQuestionsHost>());
    const std::string id =
        id_of(send({.params = R"("name":"both")", .name = "both", .capabilities = kTasksAndForms}));
    ASSERT_TRUE(until([&] {
        const std::string state = get(id);
        return state.contains(R"("first":{)") && state.contains(R"("second":{)");
    }));
    about("tasks/update", id, R"(,"inputResponses":{"first":{"action":"decline"}})");
    const std::string state = get(id);
    EXPECT_EQ(status_of(state), "input_required");
    EXPECT_THAT(state, AllOf(Not(HasSubstr(R"("first":{)")), HasSubstr(R"("second":{)")));
    about("tasks/update", id, R"(,"inputResponses":{"second":{"action":"cancel"}})");
    EXPECT_TRUE(comes_to(id, "completed"));
}

TEST_F(McpTaskCalls, AListenStreamTellsOfItsTasks) {
    const std::string id = id_of(send({}));
    const std::string params =
        fmt::format(R"("notifications":{{"taskIds":["{}","{}"]}})", id, std::string(32, '0'));
    const Asked asked{.method = "subscriptions/listen", .params = params, .name = {}};
    auto client = begin("POST", fields_of(asked), body_of(asked), 1);
    const std::string head = client->read_until(fmt::format(R"("taskIds":["{}"]}})", id));
    EXPECT_THAT(head, HasSubstr("notifications/subscriptions/acknowledged"));
    gate->open = true;
    const std::string news = client->read_until("through the gate");
    for (const std::string_view part :
         {R"("method":"notifications/tasks")", R"("status":"completed")"})
        EXPECT_THAT(news, HasSubstr(part));
    EXPECT_THAT(client->read_until(R"("io.modelcontextprotocol/subscriptionId":"q1"})"),
                Not(HasSubstr("error")));
    const Asked without{
        .method = "subscriptions/listen", .params = params, .name = {}, .capabilities = "{}"};
    EXPECT_THAT(send(without), HasSubstr(R"("code":-32021)"));
}

TEST_F(McpTaskCalls, WithoutRoomForATaskTheCallIsWaitedFor) {
    task_rows.refuses = true;
    auto client = begin("POST", fields_of({}), body_of({}));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    gate->open = true;
    EXPECT_THAT(client->read_response(), HasSubstr("through the gate"));
}

TEST_F(McpTaskCalls, ACallEndsThoughTheDiskHangsWhileItIsMadeATask) {
    task_rows.hang();
    const ScopeExit end([&] { task_rows.go_on(); });
    auto client = begin("POST", fields_of({}), body_of({}));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    gate->open = true;
    EXPECT_THAT(client->read_response(), HasSubstr("through the gate"));
    task_rows.go_on();
    EXPECT_TRUE(until([&] {
        task_pool.settle();
        return task_rows.size() == 0;
    })) << "nobody was told its id";
}

struct McpTasksOnADiskThatHangs : McpTaskCalls {
    McpTasksOnADiskThatHangs() : McpTaskCalls(Milliseconds(20), Milliseconds(100)) {}
};

TEST_F(McpTasksOnADiskThatHangs, RequestsAndEndsWaitForItForAWhileOnly) {
    const std::string id = id_of(send({}));
    ASSERT_EQ(id.size(), 32u);
    task_rows.hang();
    const ScopeExit end([&] { task_rows.go_on(); });
    const std::string other(32, 'c');
    EXPECT_THAT(get(other), HasSubstr(R"("code":-32603)"));
    EXPECT_THAT(about("tasks/cancel", other), HasSubstr(R"("code":-32603)"));
    EXPECT_EQ(status_of(get(id)), "working") << "what runs here is known here";
    gate->open = true;
    ASSERT_TRUE(comes_to(id, "completed")) << "so is its end";
    task_rows.go_on();
    EXPECT_TRUE(until([&] { return task_rows.find(id).value()->ended; }))
        << "it is stored as soon as that can be";
}

TEST_F(McpTaskCalls, WhatRanInAnEarlierGatewayIsTakenUpByItsOwner) {
    core::CallTask row{.id = std::string(32, 'a'),
                       .tenant = std::string(core::principal_of("caller/ann")->tenant.text()),
                       .principal = "caller/ann",
                       .call_id = "earlier",
                       .request = R"({"revision":"2026-07-28","params":)"
                                  R"({"_meta":{"io.modelcontextprotocol/clientCapabilities":)" +
                                  std::string(kTasksAndForms) + R"(},"name":"long"}})",
                       .resume = "upstream-6",
                       .created = clock.system_now(),
                       .updated = clock.system_now(),
                       .status = {},
                       .outcome = {}};
    ASSERT_TRUE(task_rows.add(row, {}).value());
    EXPECT_THAT(about("tasks/get", row.id, "", "bob"), HasSubstr(R"("code":-32602)"));
    EXPECT_TRUE(longer->resumed.empty());
    longer->rounds = 0;
    ASSERT_TRUE(comes_to(row.id, "completed"));
    EXPECT_EQ(longer->resumed, "upstream-6");
    // one that its client had cancelled is not
    row.id = std::string(32, 'b');
    row.request.clear();
    ASSERT_TRUE(task_rows.add(row, {}).value());
    EXPECT_EQ(status_of(get(row.id)), "cancelled");
}

TEST_F(McpTaskCalls, AStoppingGatewayLeavesWhatTheNextOneCanTakeUp) {
    const Asked call{.params = R"("name":"long")", .name = "long", .capabilities = kTasksAndForms};
    const std::string id = id_of(send(call));
    ASSERT_TRUE(comes_to(id, "input_required"));
    ServerTest::state.tasks.stop();
    parts[0]->server.thread.run([&] {
        parts[0]->endpoint->stop();
        return 0;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(task_rows.find(id).value()->ended);
    EXPECT_FALSE(task_rows.find(id).value()->request.empty());
}

struct McpTasksOnlyWhenSaid : McpTaskCalls {
    McpTasksOnlyWhenSaid() : McpTaskCalls(std::chrono::minutes(10)) {}
};

TEST_F(McpTasksOnlyWhenSaid, InputThatIsNeededFirstIsAskedBefore) {
    auto host = std::make_shared<test::AskingHost>();
    offer("ask", host);
    const Asked call{.params = R"("name":"ask")", .name = "ask", .capabilities = kTasksAndForms};
    EXPECT_THAT(send(call), HasSubstr(R"("resultType":"input_required")"));
}

TEST_F(McpTasksOnlyWhenSaid, AToolThatSaysItTakesLongIsATaskAtOnce) {
    EXPECT_FALSE(
        id_of(send({.params = R"("name":"long")", .name = "long", .capabilities = kTasksAndForms}))
            .empty());
}

TEST_F(McpTasksOnlyWhenSaid, AnAnsweredCallBecomesATaskLater) {
    auto host = std::make_shared<test::AskingHost>();
    host->then = std::make_shared<DeferringGate>(*gate);
    offer("ask", host);
    Asked call{.params = R"("name":"ask")", .name = "ask", .capabilities = kTasksAndForms};
    const std::string asked = send(call);
    ASSERT_THAT(asked, HasSubstr(R"("resultType":"input_required")"));
    const auto result = json::find_raw(asked, "result").value_or("");
    const std::string again = fmt::format(
        R"("name":"ask","requestState":"{}","inputResponses":{{"name":{{"action":"decline"}}}})",
        json::find_raw_string(result, "requestState").value_or(""));
    call.params = again;
    const std::string id = id_of(send(call));
    ASSERT_FALSE(id.empty());
    gate->open = true;
    EXPECT_TRUE(comes_to(id, "completed"));
}

}  // namespace
}  // namespace crab::mcp
