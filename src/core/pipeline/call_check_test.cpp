#include "core/pipeline/call_check.hpp"

#include "core/call/tool_host.hpp"
#include "core/pipeline/test_host_pipeline.hpp"

#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::core {
namespace {

class CountingHost final : public ToolHost {
public:
    Task<Outcome> run(AdmittedCall, FrameSink&) override {
        ++runs;
        ToolResult result;
        result.content = "done";
        co_return result;
    }
    int runs = 0;
};

struct SilentHook final : Hook {
    std::string_view name() const override { return "silent"; }
    bool applies_to(const Tool& tool) const override { return tool.spec.name == "read"; }
    Task<HookAnswer> before(HookView) override {
        ++asked;
        co_return Proceed{};
    }
    Task<void> after(HookView, const Outcome&) override { co_return; }
    int asked = 0;
};

constexpr std::array kTools{"read", "write",       "strict", "loose",       "twin",
                            "gone", "phone__twin", "",       "laptop__twin"};
constexpr std::array kArguments{
    R"({})",
    R"({"path":"/home/ann/x","n":3})",
    R"({"path":"/srv/y","n":1})",
    R"({"path":"/etc/passwd"})",
    R"({"path":"/etc/shadow","n":2})",
    R"({"path":""})",
    R"({"path":null})",
    R"({"path":"/home/ann/x","n":null})",
    R"({"n":"three"})",
    R"({"path":1,"n":true,"more":[]})",
    R"({"path":"a","path":"b"})",
    "",
    "null",
    "[]",
    R"({"path":)",
};

ToolSpec spec_of(std::string_view name) {
    ToolSpec spec;
    spec.input_schema = R"({"type":"object","properties":{"path":{"type":"string","minLength":1},)"
                        R"("n":{"type":"integer"}},"required":["path"]})";
    if (name == "loose") spec.input_schema = R"({"type":"object"})";
    spec.side_effects = name == "write";
    spec.effects_known = name == "read";
    return spec;
}

std::shared_ptr<const Policy> strict_policy() {
    std::vector<PolicyRule> rules(4);
    rules[0].principal = Glob("caller/bob");
    rules[0].call_deny = globs({"write"});
    rules[1].principal = Glob("caller/*");
    rules[1].call_deny = globs({"strict"});
    rules[1].where.emplace_back().pointer = "/path";
    rules[1].where.back().glob = "/etc/*";
    rules[2].call_needs_approval = globs({"write", "loose"});
    rules[2].where.emplace_back().pointer = "/n";
    rules[2].where.back().min = 1;
    rules[3].principal = Glob("caller/carl");
    rules[3].call_allow = globs({"read", "twin"});
    return policy_of(std::move(rules));
}

struct CallCheckTest : testing::Test, TestHostPipeline {
    std::shared_ptr<CountingHost> host = std::make_shared<CountingHost>();
    std::shared_ptr<SilentHook> hook = std::make_shared<SilentHook>();
    CallCheck checks{{.clock = loop.clock,
                      .registry = registry,
                      .rules = rules,
                      .ledger = ledger,
                      .early_cancels = early_cancels,
                      .audit = audit},
                     loop.executor(),
                     loop.timers,
                     ids};

    CallCheckTest() {
        CallRules set;
        set.hooks = {hook};
        serve({}, host, set);
        set.policy = strict_policy();
        set.rates = std::make_shared<RateLimits>(std::vector<RateRule>{});
        rules.set(std::make_shared<const CallRules>(std::move(set)));
        for (const char* name : {"read", "write", "strict", "loose", "twin"}) offer(name, "phone");
        offer("twin", "laptop");
    }
    void offer(std::string name, const std::string& slug) {
        const ConnectionId connection{slug == "phone" ? 1u : 2u};
        auto tool = tool_of(name, slug, connection, {}, spec_of(name));
        tool->host = host;
        tool->drops_nulls = name == "strict" || name == "write";
        registry.change(connection, std::array<ToolRef, 1>{tool}, {});
    }
    std::size_t records() {
        audit.flush_and_wait();
        return audit_store->records().size();
    }
    /// Two calls of one content cannot share the text that they replace.
    struct Asked {
        std::string tool, args, key;
        PrincipalRef principal;
    };
    CheckedCall check(const Asked& asked) {
        Call call;
        fill(call, asked);
        return loop.run(checks.check(AuthenticatedCall(call, asked.principal)));
    }
    CallEnd call(const Asked& asked) {
        Call call;
        fill(call, asked);
        FrameSink sink;
        return loop.run(pipeline->run(AuthenticatedCall(call, asked.principal), sink));
    }
    static void fill(Call& call, const Asked& asked) {
        call.tool = asked.tool;
        call.args = asked.args;
        call.idempotency_key = asked.key;
    }
};

/// Which end a check foretold.
std::string compare(const CheckedCall& checked, const CallEnd& end, int runs) {
    if (checked.refusal) {
        EXPECT_FALSE(*end.outcome);
        if (*end.outcome) return "refused, but it ran";
        EXPECT_EQ(end.outcome->error().code, checked.refusal->code);
        EXPECT_EQ(end.outcome->error().message, checked.refusal->message);
        EXPECT_EQ(end.outcome->error().details, checked.refusal->details);
        EXPECT_EQ(runs, 0);
        return std::string(token_of(checked.refusal->code));
    }
    EXPECT_TRUE(checked.valid);
    EXPECT_TRUE(checked.decision);
    EXPECT_EQ(end.tool, checked.tool);
    if (checked.needs_approval) {
        EXPECT_FALSE(*end.outcome);
        EXPECT_EQ(end.outcome->error().code, ErrorCode::kApprovalRequired);
        EXPECT_EQ(runs, 0);
        return "asked";
    }
    EXPECT_TRUE(*end.outcome) << end.outcome->error().message;
    EXPECT_EQ(runs, 1);
    return "ran";
}

TEST_F(CallCheckTest, SaysWhatTheCallDoesForRandomPairs) {
    std::mt19937 random(20);  // the same pairs each time
    const auto one_of = [&](const auto& choices) { return choices[random() % choices.size()]; };
    const std::array principals{principal_of("caller/ann"), principal_of("caller/bob"),
                                principal_of("caller/carl"),
                                principal_of("local/1000", {Role::kOperator}),
                                principal_of("device/phone", {Role::kDevice})};
    std::map<std::string, int> ends;
    for (int pair = 0; pair < 2000; ++pair) {
        const Asked asked{.tool = one_of(kTools),
                          .args = one_of(kArguments),
                          .key = random() % 3 == 0 ? fmt::format("key-{}", pair) : "",
                          .principal = one_of(principals)};
        SCOPED_TRACE(fmt::format("{} {} {}", asked.principal->id, asked.tool, asked.args));
        const std::size_t recorded = records();
        const int runs = host->runs, hooks = hook->asked;
        const CheckedCall checked = check(asked);
        ASSERT_EQ(host->runs, runs);
        ASSERT_EQ(hook->asked, hooks);
        ASSERT_EQ(records(), recorded);
        const CallEnd end = call(asked);
        ASSERT_GT(records(), recorded);
        ++ends[compare(checked, end, host->runs - runs)];
    }
    for (const char* expected :
         {"ran", "asked", "FORBIDDEN", "INVALID_ARGS", "AMBIGUOUS_TOOL", "TOOL_NOT_FOUND"})
        EXPECT_GE(ends[expected], 5) << expected;
}

TEST_F(CallCheckTest, TellsWhatIsWrongWithArgumentsThatTheCallerMayNotSendEither) {
    const CheckedCall checked = check({.tool = "strict",
                                       .args = R"({"path":"/etc/passwd","n":"three"})",
                                       .key = {},
                                       .principal = principal_of("caller/bob")});
    ASSERT_TRUE(checked.refusal);
    EXPECT_EQ(checked.refusal->code, ErrorCode::kForbidden);
    ASSERT_TRUE(checked.decision);
    EXPECT_EQ(checked.decision->verdict, Verdict::kDeny);
    EXPECT_NE(checked.decision->rule, "");
    EXPECT_FALSE(checked.valid);
    EXPECT_NE(checked.violations.find(R"("pointer":"/n")"), std::string::npos);
}

TEST_F(CallCheckTest, NamesTheHooksThatWouldSeeTheCall) {
    const CheckedCall checked = check({.tool = "read",
                                       .args = R"({"path":"x"})",
                                       .key = {},
                                       .principal = principal_of("caller/ann")});
    EXPECT_FALSE(checked.refusal);
    EXPECT_EQ(checked.hooks, std::vector<std::string>{"silent"});
    EXPECT_EQ(hook->asked, 0);
}

TEST_F(CallCheckTest, TakesNoKeyFromACallThatComesLater) {
    Asked asked{.tool = "read",
                .args = R"({"path":"x"})",
                .key = "once",
                .principal = principal_of("caller/ann")};
    EXPECT_FALSE(check(asked).refusal);
    asked.args = R"({"path":"y"})";
    EXPECT_TRUE(*call(asked).outcome);
    EXPECT_EQ(host->runs, 1);
    EXPECT_EQ(pipeline->running().size(), 0u);
}

}  // namespace
}  // namespace crab::core
