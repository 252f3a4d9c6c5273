// The memory host with its real store, called as everybody calls it: through the pipeline.

#include "hosts/memory/memory_host.hpp"

#include "base/process/test_folder.hpp"
#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "core/pipeline/pipeline.hpp"
#include "hosts/memory/memory_tools.hpp"
#include "json/schema/format.hpp"
#include "json/value.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using core::Outcome;

/// One call as a front holds it, with the text it views.
struct Asked {
    std::string tool, args, id, key;
    core::PrincipalRef principal = core::principal_of("caller/ann");
    std::string tenant = "acme", agent = "butler", isolation_key;
    core::Call call;
    core::FrameSink sink;
};

struct MemoryHostTest : testing::Test {
    TestLoop loop;
    TestFolder folder;
    BlockingPool pool{2};
    IdSource ids{loop.clock, 1}, host_ids{loop.clock, 2};
    core::Registry registry;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>()};
    std::unique_ptr<core::Ledger> ledger;
    core::EarlyCancels early_cancels;
    std::shared_ptr<core::AuditStoreMemory> audit_store =
        std::make_shared<core::AuditStoreMemory>();
    core::AuditLog audit{audit_store, pool, loop.clock};
    std::unique_ptr<MemoryStoreSqlite> store;
    std::shared_ptr<memory::MemoryHost> host;
    std::optional<core::Pipeline> pipeline;

    MemoryHostTest() {
        core::CallRules set;
        set.policy = core::policy_of();
        set.rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{});
        rules.set(std::make_shared<const core::CallRules>(set));
        restart();
    }
    ~MemoryHostTest() override { audit.flush_and_wait(); }

    /// As after a crash: nothing but the file is left.
    void restart() {
        pipeline.reset();
        std::vector<core::ToolRef> tools;
        host.reset();
        store.reset();
        store = std::move(
            MemoryStoreSqlite::open(folder / "memory.db", {.durability = Durability::kProcess})
                .value());
        host = std::make_shared<memory::MemoryHost>(
            *store, pool, loop.clock, host_ids, [this]() -> TimerWheel& { return loop.timers; });
        for (const core::ToolSpec& spec : memory::memory_tools()) {
            auto tool = core::make_tool(spec).value();
            tool->host = host;
            tools.push_back(std::move(tool));
        }
        registry.change(ConnectionId{}, tools, {});
        ledger = std::make_unique<core::Ledger>(loop.clock, core::Ledger::Options{});
        pipeline.emplace(core::CallServices{.clock = loop.clock,
                                            .registry = registry,
                                            .rules = rules,
                                            .ledger = *ledger,
                                            .early_cancels = early_cancels,
                                            .audit = audit},
                         loop.executor(), loop.timers, ids);
    }
    Outcome run(Asked& asked) {
        core::Call& call = asked.call;
        call.id = asked.id;
        call.tool = asked.tool;
        call.args = asked.args;
        call.tenant = asked.tenant;
        call.idempotency_key = asked.key;
        call.context.agent_id = asked.agent;
        call.context.isolation_key = asked.isolation_key;
        call.front = "test";
        const auto end =
            loop.run(pipeline->run(core::AuthenticatedCall(call, asked.principal), asked.sink));
        return *end.outcome;
    }
    Outcome run(std::string tool, std::string args, std::string isolation_key = {}) {
        Asked asked;
        asked.tool = std::move(tool);
        asked.args = std::move(args);
        asked.isolation_key = std::move(isolation_key);
        return run(asked);
    }
    json::Value ok(Outcome outcome) {
        if (!outcome) {
            ADD_FAILURE() << outcome.error().message;
            return {};
        }
        return json::Value::parse(outcome->content).value();
    }
    static std::string text(const json::Value& value, std::string_view pointer) {
        const json::Value* found = value.resolve(pointer);
        return found != nullptr && found->as_string() != nullptr ? *found->as_string() : "(none)";
    }
    static std::size_t entries(const json::Value& value) {
        return value.find("entries")->as_array()->size();
    }
};

TEST_F(MemoryHostTest, WhatIsAppendedIsFoundAndWhatIsDeletedIsGone) {
    const auto appended =
        ok(run("memory.append",
               R"({"entries":[{"text":"Ann likes tea","tags":["taste"],"metadata":{"n":[1,2.0]},)"
               R"("occurred_at":"2026-01-02T03:04:05+01:00"},{"text":"Bob likes coffee"}]})"));
    EXPECT_TRUE(json::formats::is_uuid(text(appended, "/operation_id")));
    EXPECT_EQ(text(appended, "/operation_id")[14], '7');
    ASSERT_EQ(entries(appended), 2u);
    EXPECT_TRUE(json::formats::is_uuid(text(appended, "/entries/0/entry_id")));
    EXPECT_LT(text(appended, "/entries/0/entry_id"), text(appended, "/entries/1/entry_id"))
        << "ids are in the order of the entries";
    EXPECT_EQ(text(appended, "/entries/1/created_at"), to_rfc3339(loop.clock.system_now()));

    const auto found = ok(run("memory.query", R"({"query":"likes TÉA"})"));
    ASSERT_EQ(entries(found), 1u);
    EXPECT_EQ(text(found, "/entries/0/entry_id"), text(appended, "/entries/0/entry_id"));
    EXPECT_EQ(text(found, "/entries/0/text"), "Ann likes tea");
    EXPECT_EQ(text(found, "/entries/0/tags/0"), "taste");
    EXPECT_EQ(text(found, "/entries/0/occurred_at"), "2026-01-02T02:04:05.000Z");
    EXPECT_EQ(found.resolve("/entries/0/metadata/n/1")->as_double(), 2.0);
    EXPECT_GT(found.resolve("/entries/0/score")->as_double().value(), 0);
    EXPECT_EQ(found.find("next_cursor"), nullptr);

    const auto all = ok(run("memory.query", "{}"));
    EXPECT_EQ(text(all, "/entries/0/text"), "Bob likes coffee") << "newest first";
    EXPECT_EQ(text(all, "/entries/0/occurred_at"), text(all, "/entries/0/created_at"));
    EXPECT_EQ(all.resolve("/entries/0/score"), nullptr);

    const auto gone = ok(run("memory.delete", fmt::format(R"({{"entry_ids":["{}","nobody"]}})",
                                                          text(appended, "/entries/0/entry_id"))));
    EXPECT_TRUE(json::formats::is_uuid(text(gone, "/operation_id")));
    EXPECT_EQ(gone.find("deleted")->as_int64(), 1);
    EXPECT_EQ(text(gone, "/not_found/0"), "nobody");
    EXPECT_EQ(entries(ok(run("memory.query", R"({"query":"tea"})"))), 0u);
}

TEST_F(MemoryHostTest, TheScopeComesFromTheCallAndUnsetIsNotGlobal) {
    ok(run("memory.append", R"({"entries":[{"text":"unset"}]})"));
    ok(run("memory.append", R"({"entries":[{"text":"named"}]})", "global"));
    EXPECT_EQ(text(ok(run("memory.query", "{}")), "/entries/0/text"), "unset");
    EXPECT_EQ(text(ok(run("memory.query", "{}", "global")), "/entries/0/text"), "named");
    EXPECT_EQ(ok(run("memory.delete", R"({"all":true})", "other")).find("deleted")->as_int64(), 0);
    EXPECT_EQ(entries(ok(run("memory.query", "{}"))), 1u);
}

TEST_F(MemoryHostTest, ARepeatedCallHasTheSameAnswerAlsoAfterARestart) {
    std::vector<std::string> contents;
    for (const bool restarted : {false, false, true, true}) {
        if (restarted) restart();
        loop.clock.advance(1s);
        Asked asked;
        asked.tool = "memory.append";
        asked.args = R"({"entries":[{"text":"once"}]})";
        asked.id = "call-1";
        contents.push_back(run(asked).value().content);
        EXPECT_EQ(entries(ok(run("memory.query", "{}"))), 1u);
    }
    for (const std::string& content : contents) EXPECT_EQ(content, contents[0]);
    Asked other;
    other.tool = "memory.append";
    other.args = R"({"entries":[{"text":"something else"}]})";
    other.id = "call-1";
    restart();
    EXPECT_EQ(run(other).error().code, ErrorCode::kConflict);
}

TEST_F(MemoryHostTest, AKeyNamesTheChangeWhateverTheCallIdAndWhiteSpaceDoesNotMatter) {
    const auto with = [&](std::string id, std::string args) {
        restart();   // so that it is the store that remembers
        Asked asked;
        asked.tool = "memory.append";
        asked.args = std::move(args);
        asked.id = std::move(id);
        asked.key = "key";
        return run(asked).value().content;
    };
    EXPECT_EQ(with("a", R"({"entries":[{"text":"once","tags":["t"]}]})"),
              with("b", R"( {"entries" : [ {"tags": ["t"], "text":"\u006fnce"} ] })"));
    EXPECT_EQ(entries(ok(run("memory.query", "{}"))), 1u);
}

TEST_F(MemoryHostTest, ACursorLeadsOnForAnHourAndOnlyWithItsQueryAndScope) {
    for (int i = 0; i < 5; ++i)
        ok(run("memory.append", fmt::format(R"({{"entries":[{{"text":"tea {}"}}]}})", i)));
    const auto first = ok(run("memory.query", R"({"query":"tea","limit":2})"));
    const std::string cursor = text(first, "/next_cursor");
    std::string seen =
        text(first, "/entries/0/text").substr(4) + text(first, "/entries/1/text").substr(4);
    for (std::string next = cursor; next != "(none)";) {
        const auto page = ok(
            run("memory.query", fmt::format(R"({{"query":"tea","limit":1,"cursor":"{}"}})", next)));
        seen += text(page, "/entries/0/text").substr(4);
        next = text(page, "/next_cursor");
    }
    EXPECT_EQ(seen, "43210");
    const auto refused = [&](std::string query, std::string isolation_key = {}) {
        const auto outcome =
            run("memory.query", fmt::format(R"({{"query":"{}","cursor":"{}"}})", query, cursor),
                std::move(isolation_key));
        return !outcome && outcome.error().code == ErrorCode::kInvalidArgs;
    };
    EXPECT_FALSE(refused("tea"));
    EXPECT_TRUE(refused("coffee"));
    EXPECT_TRUE(refused("tea", "other"));
    loop.clock.advance(1h + 1s);
    EXPECT_TRUE(refused("tea"));
}

TEST_F(MemoryHostTest, UnknownMembersAndBadTimesAreRefusedByName) {
    const auto unknown = run("memory.query", R"({"tenant_id":"other"})");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgs);
    const auto time =
        run("memory.append", R"({"entries":[{"text":"x","occurred_at":"2026-02-30T00:00:00Z"}]})");
    ASSERT_FALSE(time);
    EXPECT_NE(time.error().message.find("/entries/0/occurred_at"), std::string::npos);
    EXPECT_EQ(entries(ok(run("memory.query", "{}"))), 0u);
}

TEST_F(MemoryHostTest, TheLargestPageFitsTheReplyLimit) {
    std::string worst;
    for (int i = 0; i < 32'768; ++i)
        worst += R"(\u0001)";   // six bytes each, in the request as in the reply
    for (int i = 0; i < 60; ++i)
        ok(run("memory.append", R"({"entries":[{"text":")" + worst + R"("}]})"));
    std::size_t seen = 0;
    std::string cursor;
    do {
        const auto outcome =
            run("memory.query", fmt::format(R"({{"limit":100{}}})",
                                            cursor.empty() ? "" : R"(,"cursor":")" + cursor + '"'));
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_LT(outcome->content.size(), std::size_t{8} << 20);
        const auto page = ok(outcome);
        seen += entries(page);
        cursor = page.find("next_cursor") != nullptr ? text(page, "/next_cursor") : "";
    } while (!cursor.empty());
    EXPECT_EQ(seen, 60u);
}

}  // namespace
}  // namespace crab::store::sqlite
