#include "hosts/cron/cron_host.hpp"

#include "core/pipeline/test_host_pipeline.hpp"
#include "hosts/cron/cron_tools.hpp"
#include "hosts/cron/test_cron_store.hpp"
#include "json/value.hpp"

#include <array>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Caller {
    std::string principal = "caller/ann", tenant = "acme", agent = "butler", session = "s1",
                isolation_key, key;
};

struct CronStores {
    CronStoreMemory store;
    TimeZones zones;
    std::atomic<int> woken = 0;
};

struct CronHostTest : CronStores, core::TestHostPipeline, testing::Test {
    std::uint64_t calls = 0;

    CronHostTest() {
        core::CallRules set;
        set.callers_are_gateways = true;   // the host as such takes what its gateway says
        serve(cron_tools(),
              std::make_shared<CronHost>(
                  CronHost::Services{.store = store,
                                     .zones = zones,
                                     .pool = host_pool,
                                     .clock = loop.clock,
                                     .ids = host_ids,
                                     .timers_here = [this]() -> TimerWheel& { return loop.timers; },
                                     .on_created = [this] { ++woken; }}),
              std::move(set));
    }

    core::Outcome call(const std::string& tool, const std::string& args,
                       const Caller& caller = {}) {
        const std::string id = "call-" + std::to_string(++calls);
        core::Call made;
        made.id = id;
        made.tool = tool;
        made.args = args;
        made.tenant = caller.tenant;
        made.idempotency_key = caller.key;
        made.context.agent_id = caller.agent;
        made.context.session_id = caller.session;
        made.context.isolation_key = caller.isolation_key;
        made.front = "test";
        made.policy.max_retries = 0;
        const auto principal = core::principal_of(caller.principal);
        core::FrameSink sink;
        return *loop.run(pipeline->run(core::AuthenticatedCall(made, principal), sink)).outcome;
    }
    json::Value answer(const std::string& tool, const std::string& args,
                       const Caller& caller = {}) {
        const auto outcome = call(tool, args, caller);
        EXPECT_TRUE(outcome) << args << ": " << outcome.error().message;
        return outcome ? json::Value::parse(outcome->content).value() : json::Value();
    }
    Error refusal(const std::string& tool, const std::string& args, const Caller& caller = {}) {
        const auto outcome = call(tool, args, caller);
        EXPECT_FALSE(outcome) << args;
        return outcome ? Error{} : outcome.error();
    }
    json::Value create(const std::string& schedule, const Caller& caller = {}) {
        return answer("cron.create", R"({"name":"n","schedule":")" + schedule + "\"}", caller);
    }
    std::vector<std::string> listed(const Caller& caller = {}) {
        std::vector<std::string> found;
        const auto page = answer("cron.list", "{}", caller);
        for (const json::Value& job : *page.find("jobs")->as_array())
            found.push_back(*job.find("job_id")->as_string());
        return found;
    }
};

TEST_F(CronHostTest, AJobIsCreatedWithDefaultsForTheCallsTenantAgentAndSession) {
    const auto made = create("30 7 * * MON-FRI", {.isolation_key = "kitchen"});
    for (const auto& [pointer, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"/name", "n"},
             {"/schedule", "30 7 * * MON-FRI"},
             {"/timezone", "UTC"},
             {"/event_type", "cron.triggered"},
             {"/tenant_id", "acme"},
             {"/agent_id", "butler"},
             {"/session_id", "s1"},
             {"/isolation_key", "kitchen"},
             {"/missed_tick_policy", "skip"},
             {"/created_at", "2026-05-28T20:26:40.000Z"},
             {"/updated_at", "2026-05-28T20:26:40.000Z"},
             {"/next_run_at", "2026-05-29T07:30:00.000Z"}}) {
        EXPECT_EQ(*made.resolve(pointer), value) << pointer;
    }
    EXPECT_EQ(*made.find("enabled"), true);
    EXPECT_EQ(*made.find("input"), json::Value::object());
    EXPECT_EQ(made.find("last_run_at"), nullptr);
    EXPECT_EQ(made.find("operation_id")->as_string()->size(), 36u);
    EXPECT_EQ(made.find("job_id")->as_string()->size(), 36u);
    EXPECT_EQ(woken, 1);
    EXPECT_THAT(listed(), ElementsAre(*made.find("job_id")->as_string()));
}

TEST_F(CronHostTest, EveryArgumentIsKept) {
    const auto made = answer(
        "cron.create",
        R"({"name":"Tea","schedule":"@daily","timezone":"Asia/Kathmandu",)"
        R"("event_type":"heartbeat.tick",)"
        R"("input":{"b":[1, 2.5],"a":"ü"},"missed_tick_policy":"run_once","enabled":false})");
    EXPECT_EQ(*made.find("next_run_at"), "2026-05-29T18:15:00.000Z") << "midnight at +5:45";
    EXPECT_EQ(*made.find("event_type"), "heartbeat.tick");
    EXPECT_EQ(*made.find("missed_tick_policy"), "run_once");
    EXPECT_EQ(*made.find("enabled"), false);
    EXPECT_EQ(*made.resolve("/input/b/1"), 2.5);
    EXPECT_EQ(*made.resolve("/input/a"), "ü");
}

TEST_F(CronHostTest, WhatIsNotAJobIsRefusedWithAReason) {
    const std::string text_129(129, 'x');
    for (const std::string& args : {
             std::string(R"({})"),
             std::string(R"({"name":"n"})"),
             std::string(R"({"schedule":"@daily"})"),
             std::string(R"({"name":"","schedule":"@daily"})"),
             R"({"name":")" + text_129 + R"(","schedule":"@daily"})",
             std::string(R"({"name":"n","schedule":"@daily","color":"red"})"),
             std::string(R"({"name":"n","schedule":"@daily","timezone":"Mars/Olympus"})"),
             std::string(R"({"name":"n","schedule":"@daily","timezone":"../UTC"})"),
             std::string(R"({"name":"n","schedule":"@daily","event_type":"agent.turn.started"})"),
             std::string(R"({"name":"n","schedule":"@daily","input":[]})"),
             std::string(R"({"name":"n","schedule":"@daily","input":null})"),
             std::string(R"({"name":"n","schedule":"@daily","missed_tick_policy":"all"})"),
             std::string(R"({"name":"n","schedule":"@daily","enabled":"yes"})"),
             std::string(R"({"name":"n","schedule":"@daily","tenant_id":"other"})"),
         }) {
        const Error error = refusal("cron.create", args);
        EXPECT_EQ(error.code, ErrorCode::kInvalidArgs) << args;
        EXPECT_FALSE(error.message.empty());
    }
    const std::string large(65'536, 'x');
    EXPECT_EQ(
        refusal("cron.create", R"({"name":"n","schedule":"@daily","input":{"a":")" + large + "\"}}")
            .code,
        ErrorCode::kInvalidArgs);
    EXPECT_TRUE(call("cron.create", R"({"name":"n","schedule":"@daily","input":{"a":")" +
                                        large.substr(8) + "\"}}"))
        << "64 KiB in all";
    EXPECT_THAT(listed(), SizeIs(1));
    EXPECT_EQ(refusal("cron.create", R"({"name":"n","schedule":"@daily"})", {.agent = " "}).code,
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(refusal("cron.create", R"({"name":"n","schedule":"@daily"})", {.session = ""}).code,
              ErrorCode::kInvalidArgs);
}

TEST_F(CronHostTest, SchedulesOfTheReferencePassAndTheOthersFail) {
    for (const char* good : {"* * * * 7", "1-9/2 * * * *", "@daily"}) create(good);
    for (const char* bad : {"*/0 * * * *", "5-1 * * * *", "60 * * * *", "1,,2 * * * *", "* * * *",
                            "* * * * * *", "0 0 30 2 *"}) {
        EXPECT_EQ(
            refusal("cron.create", std::string(R"({"name":"n","schedule":")") + bad + "\"}").code,
            ErrorCode::kInvalidArgs)
            << bad;
    }
    EXPECT_THAT(listed(), SizeIs(3));
}

TEST_F(CronHostTest, JobsStayInTheirTenant) {
    const auto ours = *create("@daily").find("job_id")->as_string();
    const auto theirs = *create("@daily", {.tenant = "other"}).find("job_id")->as_string();
    EXPECT_THAT(listed(), ElementsAre(ours));
    EXPECT_THAT(listed({.tenant = "other"}), ElementsAre(theirs));
    const Error error = refusal("cron.remove", R"({"job_id":")" + theirs + "\"}");
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(error.message, "job not found");
    EXPECT_THAT(listed({.tenant = "other"}), SizeIs(1));
}

TEST_F(CronHostTest, RemovingNamesTheJobAndASecondTimeThereIsNone) {
    const auto id = *create("@daily").find("job_id")->as_string();
    const auto removed = answer("cron.remove", R"({"job_id":")" + id + "\"}");
    EXPECT_EQ(*removed.find("deleted"), true);
    EXPECT_EQ(*removed.find("job_id"), id);
    EXPECT_EQ(removed.find("operation_id")->as_string()->size(), 36u);
    EXPECT_THAT(listed(), IsEmpty());
    EXPECT_EQ(refusal("cron.remove", R"({"job_id":")" + id + "\"}").message, "job not found");
    EXPECT_EQ(refusal("cron.remove", R"({"job_id":"x","why":"y"})").code, ErrorCode::kInvalidArgs);
}

TEST_F(CronHostTest, ARepeatedKeyCreatesOneJobEvenWhenTheGatewayHasForgottenTheCall) {
    const Caller caller{.key = "k1"};
    const auto first =
        answer("cron.create", R"({"name":"n","schedule":"@daily","input":{"a":1,"b":2}})", caller);
    loop.advance(1h);   // the pipeline's own ledger keeps ten minutes
    const auto again = answer(
        "cron.create", R"({"schedule":"@daily","input":{"b":2.0,"a":1},"name":"n"})", caller);
    EXPECT_EQ(*again.find("operation_id"), *first.find("operation_id"));
    EXPECT_EQ(*again.find("job_id"), *first.find("job_id"));
    EXPECT_EQ(*again.find("created_at"), *first.find("created_at"));
    EXPECT_THAT(listed(), SizeIs(1));
    loop.advance(1h);
    EXPECT_EQ(refusal("cron.create", R"({"name":"n","schedule":"@hourly"})", caller).code,
              ErrorCode::kConflict);
    EXPECT_TRUE(call("cron.create", R"({"name":"n","schedule":"@hourly"})",
                     {.principal = "caller/bob", .key = "k1"}))
        << "somebody else's key is another one";
}

TEST_F(CronHostTest, ARepeatedRemoveAnswersAsTheFirst) {
    const auto id = *create("@daily").find("job_id")->as_string();
    const auto first = answer("cron.remove", R"({"job_id":")" + id + "\"}", {.key = "k"});
    loop.advance(1h);
    EXPECT_EQ(answer("cron.remove", R"({"job_id":")" + id + "\"}", {.key = "k"}), first);
}

TEST_F(CronHostTest, PagesNeitherRepeatNorLose) {
    std::vector<std::string> made;
    for (int i = 0; i < 7; ++i) {
        made.push_back(*create("@daily").find("job_id")->as_string());
        loop.advance(4ms);
    }
    std::vector<std::string> seen;
    std::string cursor;
    for (int pages = 0; pages < 4; ++pages) {
        const auto page =
            answer("cron.list",
                   cursor.empty() ? R"({"limit":3})" : R"({"limit":3,"cursor":")" + cursor + "\"}");
        for (const json::Value& job : *page.find("jobs")->as_array())
            seen.push_back(*job.find("job_id")->as_string());
        if (page.find("next_cursor") == nullptr) break;
        cursor = *page.find("next_cursor")->as_string();
    }
    EXPECT_EQ(seen, made) << "oldest first";
    for (const char* args : {R"({"limit":0})", R"({"limit":1001})", R"({"cursor":"x"})",
                             R"({"cursor":""})", R"({"page":1})"}) {
        EXPECT_EQ(refusal("cron.list", args).code, ErrorCode::kInvalidArgs) << args;
    }
}

TEST_F(CronHostTest, ATenantHasAThousandJobsAtMost) {
    for (std::size_t i = 0; i < CronHost::kMostJobsPerTenant; ++i) create("@daily");
    const Error error = refusal("cron.create", R"({"name":"n","schedule":"@daily"})");
    EXPECT_EQ(error.code, ErrorCode::kRateLimited);
    EXPECT_FALSE(error.may_retry());
    EXPECT_TRUE(call("cron.create", R"({"name":"n","schedule":"@daily"})", {.tenant = "other"}));
}

TEST_F(CronHostTest, AStoreThatHangsHoldsNoCallBeyondItsDeadline) {
    const std::string job = *create("30 7 * * *").find("job_id")->as_string();
    std::promise<void> go_on;
    host_pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto principal = core::principal_of("caller/ann");
    for (const auto& [tool, args] : std::initializer_list<std::pair<std::string, std::string>>{
             {"cron.create", R"({"name":"n","schedule":"30 7 * * *"})"},
             {"cron.list", "{}"},
             {"cron.remove", R"({"job_id":")" + job + R"("})"}}) {
        core::Call made;
        made.id = tool;
        made.tool = tool;
        made.args = args;
        made.tenant = "acme";
        made.context.agent_id = "butler";
        made.context.session_id = "s1";
        expect_timeout(std::move(made), principal);
    }
    go_on.set_value();
    host_pool.settle();
    EXPECT_THAT(listed(), ElementsAre(job)) << "nothing was done for those that had left";
}

TEST_F(CronHostTest, AFailingStoreIsUnavailable) {
    store.set_failing(true);
    EXPECT_EQ(refusal("cron.list", "{}").code, ErrorCode::kUnavailable);
    EXPECT_EQ(refusal("cron.create", R"({"name":"n","schedule":"@daily"})").code,
              ErrorCode::kUnavailable);
    EXPECT_EQ(woken, 0);
}

TEST(CronTools, HaveTheTimeoutsAndFlagsOfTheReference) {
    const auto tools = cron_tools();
    ASSERT_THAT(tools, SizeIs(3));
    for (const core::ToolSpec& spec : tools) {
        const bool list = spec.name == kListTool;
        EXPECT_EQ(spec.default_timeout, 5s);
        EXPECT_EQ(spec.max_timeout, 10s);
        EXPECT_EQ(spec.idempotent, list);
        EXPECT_EQ(spec.side_effects, !list);
        EXPECT_EQ(spec.accepts_idempotency_key, !list);
    }
}

}  // namespace
}  // namespace crab::cron
