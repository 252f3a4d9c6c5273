#include "core/pipeline/pipeline.hpp"

#include "base/task/test_loop.hpp"
#include "core/audit/call_record.hpp"
#include "core/call/effects_lease.hpp"
#include "core/call/function_host.hpp"
#include "core/call/test_tools.hpp"
#include "core/ledger/test_ledger_store.hpp"
#include "core/pipeline/late_call.hpp"

#include <functional>
#include <future>
#include <optional>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;
using Refuse = LedgerStoreMemory::Refuse;

/// A pipeline with a durable ledger; crash() loses all that is in memory.
struct PipelineLedgerTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    IdSource ids{loop.clock, 1};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>(
        CallRules{.policy = policy_of(),
                  .hooks = {},
                  .rates = std::make_shared<RateLimits>(std::vector<RateRule>{})})};
    std::optional<Ledger> ledger;
    EarlyCancels early_cancels;
    std::shared_ptr<AuditStoreMemory> audit_store = std::make_shared<AuditStoreMemory>();
    AuditLog audit{audit_store, pool, loop.clock};
    LedgerStoreMemory store;
    LedgerJournal journal{store, pool, loop.clock};
    HeardCalls heard;
    std::optional<Pipeline> pipeline;
    PrincipalRef principal = principal_of("caller/ann");
    ToolSpec spec;
    std::uint64_t process = 0;  ///< of the tool's host
    int runs = 0;
    std::vector<std::string> seen;   ///< id and key of each run
    std::function<Outcome()> answer = [this]() -> Outcome {
        ToolResult result;
        result.content = "run " + std::to_string(runs);
        return result;
    };

    PipelineLedgerTest() {
        spec.side_effects = true;
        crash();
    }

    /// Notes what it is asked, and lets `answer` say the rest.
    class Host final : public ToolHost {
    public:
        explicit Host(PipelineLedgerTest& test) : test_(test) {}
        std::uint64_t process() const override { return test_.process; }
        Task<Outcome> run(AdmittedCall call, FrameSink&) override {
            ++test_.runs;
            test_.seen.push_back(std::string(call.call().id) + " " +
                                 std::string(call.call().idempotency_key));
            co_return test_.answer();
        }

    private:
        PipelineLedgerTest& test_;
    };
    virtual std::shared_ptr<Tool> made() {
        auto tool = tool_of("act", "", ConnectionId{1}, {}, spec);
        tool->host = std::make_shared<Host>(*this);
        return tool;
    }
    void crash() {
        pipeline.reset();
        ledger.emplace(loop.clock, Ledger::Options{});
        const ToolRef tool = made();
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
        pipeline.emplace(CallServices{.clock = loop.clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = *ledger,
                                      .early_cancels = early_cancels,
                                      .audit = audit,
                                      .journal = &journal,
                                      .events = &heard},
                         loop.executor(), loop.timers, ids);
    }
    struct Asked {
        std::string id = "call-1", key = {}, args = R"({"n":1,"m":2})";
        std::optional<Milliseconds> timeout = {};
        std::string tool = "act";
        std::optional<Milliseconds> caller_time = {};
    };
    Task<CallEnd> run(Asked asked) {
        Call call;
        FrameSink sink;
        call.id = asked.id;
        call.idempotency_key = asked.key;
        call.tool = asked.tool;
        if (asked.caller_time) call.caller_deadline = loop.clock.steady_now() + *asked.caller_time;
        call.args = asked.args;
        call.timeout = asked.timeout;
        co_return co_await pipeline->run(AuthenticatedCall(call, principal), sink);
    }
    CallEnd call(Asked asked) { return loop.run(run(std::move(asked))); }
    CallEnd call() { return call(Asked{}); }
    static std::string said(const CallEnd& end) {
        return *end.outcome ? (*end.outcome)->content
                            : std::string(token_of(end.outcome->error().code));
    }
};

TEST_F(PipelineLedgerTest, ACallWithSideEffectsThatEndedIsReplayedAfterACrash) {
    const CallEnd first = call();
    EXPECT_EQ(said(first), "run 1");
    loop.clock.advance(3s);
    crash();
    const CallEnd again = call();
    EXPECT_EQ(said(again), "run 1");
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.duration, first.duration);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(said(call()), "run 1") << "now from memory";
    EXPECT_EQ(store.commits(), 3u);
}

/// As a gateway of a fleet does it, in a database that both use.
TEST_F(PipelineLedgerTest, WhoseCallWasTakenOverWhileItRanHearsThatItsOutcomeIsUnknown) {
    spec.idempotent = true;
    crash();
    answer = [this]() -> Outcome {
        store.take_over();
        return ToolResult{.content = "run " + std::to_string(runs)};
    };
    EXPECT_EQ(said(call()), "OUTCOME_UNKNOWN");
    EXPECT_EQ(runs, 1);
}

/// Says whether this gateway's lease holds.
struct TestLease final : EffectsLease {
    std::uint32_t incarnation() const override { return now; }
    bool holds(std::uint32_t of) const override { return of == now && !lapsed; }
    std::uint32_t now = 1;
    bool lapsed = false;
};

TEST_F(PipelineLedgerTest, WithoutItsLeaseAGatewaySendsNothingThatItHasRecordedAndFreesTheKey) {
    TestLease lease;
    Pipeline leased(CallServices{.clock = loop.clock,
                                 .registry = registry,
                                 .rules = rules,
                                 .ledger = *ledger,
                                 .early_cancels = early_cancels,
                                 .audit = audit,
                                 .journal = &journal,
                                 .lease = &lease},
                    loop.executor(), loop.timers, ids);
    const auto ask = [&](std::string_view id) {
        return loop.run(
            [](Pipeline& of, std::string_view call_id, const PrincipalRef& who) -> Task<CallEnd> {
                Call made;
                FrameSink sink;
                made.id = call_id;
                made.tool = "act";
                co_return co_await of.run(AuthenticatedCall(made, who), sink);
            }(leased, id, principal));
    };
    EXPECT_EQ(said(ask("a")), "run 1");
    lease.lapsed = true;
    const CallEnd refused = ask("b");
    EXPECT_EQ(said(refused), "UNAVAILABLE");
    EXPECT_TRUE(refused.outcome->error().may_retry());
    EXPECT_EQ(runs, 1);
    pool.settle();
    EXPECT_EQ(store.entries(), 1u) << "it was released";
    lease.lapsed = false;
    EXPECT_EQ(said(ask("b")), "run 2");
}

TEST_F(PipelineLedgerTest, InAFleetACallWithAnIdIsRecordedUnlessItsToolHasNoEffects) {
    TestLease lease;
    spec.side_effects = false;  // and unknown
    for (const EffectsLease* of :
         {static_cast<const EffectsLease*>(nullptr), static_cast<const EffectsLease*>(&lease)}) {
        crash();
        Pipeline leased(CallServices{.clock = loop.clock,
                                     .registry = registry,
                                     .rules = rules,
                                     .ledger = *ledger,
                                     .early_cancels = early_cancels,
                                     .audit = audit,
                                     .journal = &journal,
                                     .lease = of},
                        loop.executor(), loop.timers, ids);
        loop.run([](Pipeline& pipe, const PrincipalRef& who) -> Task<CallEnd> {
            Call made;
            FrameSink sink;
            made.id = "a";
            made.tool = "act";
            co_return co_await pipe.run(AuthenticatedCall(made, who), sink);
        }(leased, principal));
        EXPECT_EQ(store.entries(), of == nullptr ? 0u : 1u);
    }
}

TEST_F(PipelineLedgerTest, WhatAnotherGatewayRunsIsAskedForAgainUntilItHasEnded) {
    store.run_elsewhere("call-1", 2);
    const auto started = loop.start(run({.timeout = 30s}));
    const auto pass = [&](std::chrono::milliseconds time) {
        loop.advance(time);
        pool.settle();
        loop.settle();
    };
    pool.settle();
    loop.settle();
    EXPECT_FALSE(started->ended());
    pass(200ms);
    EXPECT_FALSE(started->ended());
    EXPECT_EQ(runs, 0);
    for (int i = 0; i < 5 && !started->ended(); ++i) pass(300ms);
    ASSERT_TRUE(started->ended()) << "the third time it is free";
    EXPECT_EQ(said(started->get()), "run 1");
}

TEST_F(PipelineLedgerTest, AnAdoptedCallIsNeverSaidNotToHaveRun) {
    process = 7;
    for (const bool idempotent : {false, true}) {
        spec.idempotent = idempotent;
        crash();  // registers it so
        const std::string id = idempotent ? "again" : "once";
        TestLease lease;
        const auto ask = [&](Ledger& memory) {
            Pipeline node(CallServices{.clock = loop.clock,
                                       .registry = registry,
                                       .rules = rules,
                                       .ledger = memory,
                                       .early_cancels = early_cancels,
                                       .audit = audit,
                                       .journal = &journal,
                                       .lease = &lease},
                          loop.executor(), loop.timers, ids);
            return loop.run([](Pipeline& of, std::string_view call_id,
                               const PrincipalRef& who) -> Task<CallEnd> {
                Call made;
                FrameSink sink;
                made.id = call_id;
                made.tool = "act";
                co_return co_await of.run(AuthenticatedCall(made, who), sink);
            }(node, id, principal));
        };
        Ledger of_one(loop.clock, {}), of_another(loop.clock, {});
        runs = 0;
        store.refuse(Refuse::kEnds);
        EXPECT_EQ(said(ask(of_one)), "run 1");
        store.refuse(Refuse::kNothing);
        lease.lapsed = true;  // it is recorded, and too late to be sent
        EXPECT_EQ(said(ask(of_another)), "OUTCOME_UNKNOWN");
        EXPECT_EQ(runs, 1);
        pool.settle();
        EXPECT_EQ(store.entries(), 1u) << "what may run again is free for that";
    }
}

TEST_F(PipelineLedgerTest, WhoseDeadlinePassesWhileAnotherGatewayRunsTheCallHearsThat) {
    store.run_elsewhere("call-1", 1'000);
    const auto started = loop.start(run({.timeout = 3s}));
    for (int i = 0; i < 8 && !started->ended(); ++i) {
        pool.settle();
        loop.settle();
        loop.advance(500ms);
    }
    ASSERT_TRUE(started->ended());
    EXPECT_EQ(said(started->get()), "TIMEOUT");
    EXPECT_EQ(runs, 0);
}

TEST_F(PipelineLedgerTest, ACallWhoseEndWasNotRecordedIsUnknownAfterACrashAndSaysWhatIsKnown) {
    store.refuse(Refuse::kEnds);
    EXPECT_EQ(said(call()), "run 1") << "its outcome is known now";
    EXPECT_EQ(said(call()), "run 1") << "and as long as memory lasts";
    store.refuse(Refuse::kNothing);
    crash();
    for (int i = 0; i < 2; ++i) {
        const CallEnd again = call();
        ASSERT_EQ(said(again), "OUTCOME_UNKNOWN");
        EXPECT_FALSE(again.outcome->error().may_retry());
        EXPECT_EQ(status_of(*again.outcome), Status::kUnknown);
        EXPECT_NE(again.outcome->error().details.find(to_rfc3339(loop.clock.system_now())),
                  std::string::npos);
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(PipelineLedgerTest, AnIdempotentToolRunsAgainInsteadOfBeingUnknown) {
    spec.idempotent = true;
    crash();
    store.refuse(Refuse::kEnds);
    EXPECT_EQ(said(call()), "run 1");
    store.refuse(Refuse::kNothing);
    crash();
    EXPECT_EQ(said(call()), "run 2");
    crash();
    EXPECT_EQ(said(call()), "run 2");
}

TEST_F(PipelineLedgerTest, AToolThatAcceptsKeysIsAskedAgainUnderTheSameKeyAfterACrash) {
    spec.accepts_idempotency_key = true;
    crash();
    store.refuse(Refuse::kEnds);
    EXPECT_EQ(said(call({.id = "call-1", .key = "key"})), "run 1");
    EXPECT_EQ(said(call({.id = "call-2"})), "run 2");
    store.refuse(Refuse::kNothing);
    crash();
    seen.clear();
    EXPECT_EQ(said(call({.id = "call-1", .key = "key"})), "run 3")
        << "what the host says of its key";
    EXPECT_EQ(said(call({.id = "call-2"})), "run 4");
    EXPECT_EQ(seen, (std::vector<std::string>{"call-1 key", "call-2 "}));
    EXPECT_EQ(said(call({.id = "call-1", .key = "key", .args = R"({"n":3})"})), "CONFLICT");
}

TEST_F(PipelineLedgerTest, AToolThatAcceptsKeysIsAskedAgainWhenItsEndIsInDoubt) {
    for (const bool accepts : {true, false}) {
        spec.accepts_idempotency_key = accepts;
        crash();
        for (const ErrorCode code :
             {ErrorCode::kTimeout, ErrorCode::kCancelled, ErrorCode::kOutcomeUnknown}) {
            const Asked asked{.id = std::string(token_of(code)) + (accepts ? "-keyed" : "")};
            runs = 0;
            answer = [&]() -> Outcome {
                return fail(Error{.code = code,
                                  .message = "no word",
                                  .details = {},
                                  .retryable = false,
                                  .retry_after = {}});
            };
            EXPECT_EQ(said(call(asked)), token_of(code));
            answer = []() -> Outcome { return ToolResult{.content = "it ran once"}; };
            EXPECT_EQ(said(call(asked)), accepts ? "it ran once" : token_of(code));
            EXPECT_EQ(runs, accepts ? 2 : 1);
        }
    }
}

TEST_F(PipelineLedgerTest, WhatTheCallersOwnDeadlineEndedIsUnknownToARepeatAndNoTimeoutOfTheTool) {
    answer = [this]() -> Outcome {
        loop.clock.advance(2s);
        return fail(ErrorCode::kTimeout, "ended at its deadline");
    };
    EXPECT_EQ(said(call({.caller_time = 1s})), "TIMEOUT");
    EXPECT_EQ(said(call()), "OUTCOME_UNKNOWN");
    crash();
    EXPECT_EQ(said(call()), "OUTCOME_UNKNOWN");
    EXPECT_EQ(said(call({.id = "call-2", .timeout = 1s})), "TIMEOUT");
    EXPECT_EQ(said(call({.id = "call-2", .timeout = 1s})), "TIMEOUT")
        << "a limit of the call itself";
    EXPECT_EQ(runs, 2);
}

/// The tool of a host, which is away after a crash.
struct AbsentToolTest : PipelineLedgerTest {
    const ToolSource source{.kind = SourceKind::kPeer, .name = "shop", .owner = {}};
    AbsentToolTest() { crash(); }
    std::shared_ptr<Tool> made() override {
        auto tool = PipelineLedgerTest::made();
        tool->set_source(source);
        return tool;
    }
    void crash_and_lose_the_host() {
        crash();
        registry.remove_owner(ConnectionId{1});
    }
    void set_rules(std::vector<PolicyRule> policy, std::vector<std::shared_ptr<Hook>> hooks = {}) {
        rules.set(std::make_shared<const CallRules>(
            CallRules{.policy = policy_of(std::move(policy)),
                      .hooks = std::move(hooks),
                      .rates = std::make_shared<RateLimits>(std::vector<RateRule>{})}));
    }
};

TEST_F(AbsentToolTest, ARepeatOfACallThatEndedIsReplayedWhateverNameItSays) {
    EXPECT_EQ(said(call()), "run 1");
    crash_and_lose_the_host();
    const CallEnd again = call();
    EXPECT_EQ(said(again), "run 1");
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(said(call({.tool = "shop__act"})), "run 1");
    EXPECT_EQ(said(call({.args = R"({"n":7})"})), "CONFLICT");
    EXPECT_EQ(said(call({.tool = "other"})), "CONFLICT");
    EXPECT_EQ(said(call({.id = "call-2"})), "TOOL_NOT_FOUND") << "there was no such call";
    EXPECT_EQ(runs, 1);
}

TEST_F(AbsentToolTest, ARepeatOfACallThatDidNotEndIsUnknownForGood) {
    store.refuse(Refuse::kEnds);
    call();
    store.refuse(Refuse::kNothing);
    crash_and_lose_the_host();
    registry.expect(source);
    const CallEnd again = call();
    EXPECT_EQ(said(again), "OUTCOME_UNKNOWN");
    EXPECT_FALSE(again.outcome->error().may_retry());
    EXPECT_EQ(said(call({.args = R"({"n":7})"})), "CONFLICT");
}

TEST_F(AbsentToolTest, WhatMayRunAgainWaitsForItsHostInsteadOfBeingUnknown) {
    spec.accepts_idempotency_key = true;
    crash();
    store.refuse(Refuse::kEnds);
    call();
    store.refuse(Refuse::kNothing);
    crash_and_lose_the_host();
    registry.expect(source);
    const CallEnd soon = call();
    EXPECT_EQ(said(soon), "UNAVAILABLE");
    EXPECT_TRUE(soon.outcome->error().may_retry());
    registry.settle(source);
    const CallEnd gone = call();
    EXPECT_EQ(said(gone), "OUTCOME_UNKNOWN") << "the host is there without the tool";
    EXPECT_TRUE(gone.outcome->error().retryable.value_or(false));
    crash();
    EXPECT_EQ(said(call()), "run 2");
}

TEST_F(AbsentToolTest, OthersAndThoseWhoMayNotCallItLearnNothing) {
    call();
    crash_and_lose_the_host();
    principal = principal_of("caller/bob");
    EXPECT_EQ(said(call()), "TOOL_NOT_FOUND");
    principal = principal_of("caller/ann", {Role::kCaller}, "acme");
    EXPECT_EQ(said(call()), "TOOL_NOT_FOUND");
    principal = principal_of("caller/ann");
    set_rules({{.principal = {}, .sources = globs({"peer/shop"}), .call_deny = globs({"*"})}});
    EXPECT_EQ(said(call()), "TOOL_NOT_FOUND");
    set_rules(
        {{.principal = {},
          .call_deny = globs({"act"}),
          .where = {
              {.pointer = "/n", .equals = "1", .glob = {}, .matches = {}, .min = {}, .max = {}}}}});
    EXPECT_EQ(said(call()), "FORBIDDEN");
    set_rules({});
    EXPECT_EQ(said(call()), "run 1");
}

/// Denies, or writes other arguments.
class StubbornHook final : public Hook {
public:
    explicit StubbornHook(bool denies) : denies_(denies) {}
    std::string_view name() const override { return "stubborn"; }
    bool applies_to(const Tool& tool) const override {
        return tool.spec.name == "act" && tool.unique_name == "shop__act";
    }
    Task<HookAnswer> before(HookView) override {
        if (denies_) co_return Deny{"no"};
        co_return Replace{R"({"n":100})"};
    }

private:
    const bool denies_;
};

TEST_F(AbsentToolTest, HooksAreAskedAsEver) {
    set_rules({}, {std::make_shared<StubbornHook>(false)});
    call({.args = R"({"n":1})"});
    crash_and_lose_the_host();
    EXPECT_EQ(said(call({.args = R"({"n":2})"})), "run 1") << "the hook makes the same of both";
    set_rules({}, {std::make_shared<StubbornHook>(true)});
    EXPECT_EQ(said(call({.args = R"({"n":1})"})), "FORBIDDEN");
}

TEST_F(AbsentToolTest, ARepeatJoinsTheFirstAlthoughItsToolHasLeft) {
    std::promise<void> go_on;
    answer = [this]() -> Outcome {
        registry.remove_owner(ConnectionId{1});
        return ToolResult{.content = "the last act"};
    };
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto first = loop.start(run({}));
    registry.remove_owner(ConnectionId{1});
    const auto second = loop.start(run({}));
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return first->ended() && second->ended(); }));
    EXPECT_EQ(said(first->get()), "the last act");
    EXPECT_EQ(said(second->get()), "the last act");
    EXPECT_EQ(runs, 1);
}

TEST_F(AbsentToolTest, ANameThatLeadsToAnotherToolNowStillMeansTheCallThatWasMade) {
    call();
    crash_and_lose_the_host();
    auto other = tool_of("act", "lamp", ConnectionId{2}, {}, spec);
    other->host = std::make_shared<FunctionHost>([](std::string_view, const Principal&) -> Outcome {
        return ToolResult{.content = "other"};
    });
    registry.change(ConnectionId{2}, std::array<ToolRef, 1>{other}, {});
    EXPECT_EQ(said(call()), "run 1");
    EXPECT_EQ(said(call({.tool = "lamp__act"})), "CONFLICT");
    EXPECT_EQ(said(call({.id = "call-2"})), "other");
    EXPECT_EQ(said(call({.id = "call-2", .tool = "lamp__act"})), "other");
}

TEST_F(AbsentToolTest, WhatCannotBeReadIsNoTalkOfAnUnknownTool) {
    call();
    crash_and_lose_the_host();
    store.refuse(Refuse::kAll);
    const CallEnd refused = call();
    EXPECT_EQ(said(refused), "UNAVAILABLE");
    EXPECT_TRUE(refused.outcome->error().may_retry());
}

TEST_F(PipelineLedgerTest, TheSameKeyWithOtherContentIsAConflictAfterACrashToo) {
    call();
    crash();
    EXPECT_EQ(said(call({.args = R"({"n":2,"m":2})"})), "CONFLICT");
    EXPECT_EQ(said(call({.args = R"({"m":2.0, "n":1})"})), "run 1")
        << "the same content, written otherwise";
    EXPECT_EQ(runs, 1);
}

TEST_F(PipelineLedgerTest, WhatAnOlderProgramRecordedIsNeitherReplayedNorRunAgain) {
    call();
    crash();
    store.forget_contents();
    for (const char* args : {R"({"n":1,"m":2})", R"({"n":2,"m":2})"}) {
        const CallEnd again = call({.args = args});
        EXPECT_EQ(said(again), "OUTCOME_UNKNOWN") << args;
        EXPECT_FALSE(again.outcome->error().may_retry());
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(PipelineLedgerTest, IntegersThatNoDoubleHoldsAreOtherContentAsWell) {
    EXPECT_EQ(said(call({.args = R"({"n":1,"m":10000000000000000000001})"})), "run 1");
    EXPECT_EQ(said(call({.args = R"({"n":1,"m":10000000000000000000002})"})), "CONFLICT");
    crash();
    EXPECT_EQ(said(call({.args = R"({"n":1,"m":10000000000000000000002})"})), "CONFLICT");
    EXPECT_EQ(said(call({.args = R"({"m":10000000000000000000001,"n":1})"})), "run 1");
}

TEST_F(PipelineLedgerTest, OnlyCallsWithSideEffectsOrAKeyTouchTheDisk) {
    spec.side_effects = false;
    crash();
    store.refuse(Refuse::kAll);
    EXPECT_EQ(said(call()), "run 1");
    EXPECT_EQ(store.commits(), 0u);
    store.refuse(Refuse::kNothing);
    EXPECT_EQ(said(call({.id = "call-2", .key = "key"})), "run 2");
    EXPECT_EQ(store.commits(), 2u);
    crash();
    EXPECT_EQ(said(call({.id = "call-3", .key = "key"})), "run 2");
    EXPECT_EQ(said(call()), "run 3") << "the ledger in memory is gone";
}

TEST_F(PipelineLedgerTest, AFullDiskRefusesWhatMustBeRecordedAndSaysSo) {
    store.refuse(Refuse::kAll);
    const CallEnd refused = call();
    EXPECT_EQ(said(refused), "UNAVAILABLE");
    EXPECT_NE(refused.outcome->error().message.find("disk space"), std::string::npos);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(journal.failing());
    EXPECT_EQ(journal.refused(), 1u);
    store.refuse(Refuse::kNothing);
    EXPECT_EQ(said(call()), "run 1");
    EXPECT_FALSE(journal.failing());
}

TEST_F(PipelineLedgerTest, AnErrorThatIsSafeToRepeatIsForgottenOnDiskToo) {
    answer = []() -> Outcome {
        return fail(Error{.code = ErrorCode::kToolFailed,
                          .message = "busy",
                          .details = {},
                          .retryable = true,
                          .retry_after = Milliseconds(60'000)});
    };
    EXPECT_EQ(said(call({.timeout = 10s})), "TOOL_FAILED");
    ASSERT_TRUE(loop.run(pool.run([] { return Result<void>{}; })))
        << "after what was posted before";
    EXPECT_EQ(store.entries(), 0u);
    crash();
    answer = []() -> Outcome { return ToolResult{}; };
    EXPECT_EQ(said(call()), "");
    EXPECT_EQ(runs, 2);
}

TEST_F(PipelineLedgerTest, AnEndThatTheDiskHoldsBackIsAnsweredAtTheDeadlineAndWrittenLater) {
    std::promise<void> go_on;
    answer = [&, held = go_on.get_future().share()]() -> Outcome {
        pool.post([held] { held.wait(); });
        ToolResult result;
        result.content = "done";
        return result;
    };
    const auto started = loop.start(run({.id = "held", .timeout = 1s}));
    ASSERT_TRUE(loop.run_until([&] { return runs == 1; }));
    EXPECT_FALSE(started->ended()) << "its end is not on disk";
    loop.advance(2s);
    ASSERT_TRUE(started->ended());
    EXPECT_EQ(said(started->get()), "done") << "as the tool said";
    EXPECT_EQ(said(call({.id = "held"})), "done") << "from memory";
    go_on.set_value();
    ASSERT_TRUE(loop.run(pool.run([] { return Result<void>{}; })));
    crash();
    EXPECT_EQ(said(call({.id = "held"})), "done") << "from disk";
    EXPECT_EQ(runs, 1);
}

TEST_F(PipelineLedgerTest, ACallThatIsCancelledOrLateWhileItIsRecordedDoesNotRunAndLeavesNothing) {
    for (const bool late : {false, true}) {
        std::promise<void> go_on;
        pool.post([held = go_on.get_future().share()] { held.wait(); });
        const auto started = loop.start(run({.id = "held", .timeout = 1s}));
        ASSERT_FALSE(started->ended());
        if (late)
            loop.clock.advance(2s);
        else
            loop.cancel(*started);
        go_on.set_value();
        ASSERT_TRUE(loop.run_until([&] { return started->ended(); }));
        EXPECT_EQ(said(started->get()), late ? "TIMEOUT" : "CANCELLED");
    }
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(said(call({.id = "held"})), "run 1");
    EXPECT_EQ(store.entries(), 1u);
}

TEST_F(PipelineLedgerTest, ACallIsAnsweredAtItsDeadlineAlthoughTheDiskHangsAndItsRepeatRuns) {
    std::promise<void> go_on;
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto late = loop.start(run({.id = "late", .timeout = 1s})),
               left = loop.start(run({.id = "left"}));
    loop.advance(2s);
    loop.cancel(*left);
    ASSERT_TRUE(late->ended() && left->ended());
    EXPECT_EQ(said(late->get()), "TIMEOUT");
    EXPECT_EQ(said(left->get()), "CANCELLED");
    go_on.set_value();
    EXPECT_EQ(said(call({.id = "late"})), "run 1");
    EXPECT_EQ(said(call({.id = "left"})), "run 2");
}

TEST_F(PipelineLedgerTest, RepeatsThatComeMeanwhileJoinTheOneThatIsRecorded) {
    std::promise<void> go_on;
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto first = loop.start(run({})), second = loop.start(run({}));
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return first->ended() && second->ended(); }));
    EXPECT_EQ(said(first->get()), "run 1");
    EXPECT_EQ(said(second->get()), "run 1");
    EXPECT_TRUE(second->get().replayed);
    EXPECT_EQ(store.commits(), 2u);
}

/// Answers every call with a timeout while its tool goes on.
class DeafHost final : public ToolHost {
public:
    Task<Outcome> run(AdmittedCall call, FrameSink&) override {
        late = call.leave_running();
        co_return fail(ErrorCode::kTimeout, "too late");
    }
    std::shared_ptr<LateCall> late;
};

struct LateCallTest : PipelineLedgerTest {
    std::shared_ptr<DeafHost> deaf = std::make_shared<DeafHost>();
    LateCallTest() { offer(); }
    void offer() {
        auto tool = tool_of("act", "", ConnectionId{1}, {}, spec);
        tool->host = deaf;
        tool->gate = std::make_shared<ToolGate>(1, 0);
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    }
    void end(Outcome outcome) {
        loop.run([](std::shared_ptr<LateCall> late, Outcome given) -> Task<bool> {
            co_await late->finish(std::move(given));
            co_return true;
        }(deaf->late, std::move(outcome)));
    }
};

TEST_F(LateCallTest, RepeatsJoinWhatGoesOnAndItsResultServesThemAfterACrashToo) {
    EXPECT_EQ(said(call()), "TIMEOUT");
    const auto repeat = loop.start(run({}));
    EXPECT_FALSE(repeat->ended());
    EXPECT_EQ(said(call({.id = "call-2"})), "RATE_LIMITED") << "its place is taken";
    end(ToolResult{.content = "at last"});
    ASSERT_TRUE(loop.run_until([&] { return repeat->ended(); }));
    EXPECT_EQ(said(repeat->get()), "at last");
    EXPECT_TRUE(repeat->get().replayed);
    crash();
    EXPECT_EQ(said(call()), "at last");
    EXPECT_EQ(runs, 0);
}

TEST_F(LateCallTest, OneThatEndsWithoutAWordIsUnknownUnlessItsToolIsIdempotent) {
    for (const bool idempotent : {false, true}) {
        spec.idempotent = idempotent;
        crash();
        offer();
        const Asked asked{.id = idempotent ? "b" : "a"};
        EXPECT_EQ(said(call(asked)), "TIMEOUT");
        end(fail(ErrorCode::kCancelled, "I was told to stop"));
        EXPECT_EQ(said(call(asked)), idempotent ? "TIMEOUT" : "OUTCOME_UNKNOWN")
            << "and it ran again where it may";
        if (idempotent) end(ToolResult{});
    }
}

TEST_F(LateCallTest, OneThatIsNeverFinishedIsUnknownAfterACrash) {
    EXPECT_EQ(said(call()), "TIMEOUT");
    deaf->late.reset();
    crash();
    EXPECT_EQ(said(call()), "OUTCOME_UNKNOWN");
}

TEST_F(PipelineLedgerTest, TheAuditRecordIsDurableWithTheAdmissionAndInTheTrailAtOnce) {
    std::string recorded;
    answer = [&]() -> Outcome {
        recorded = store.record();
        return ToolResult{};
    };
    call();
    EXPECT_NE(recorded.find(R"("status":"dispatching")"), std::string::npos);
    EXPECT_EQ(call_id_of(recorded), "call-1");
    const auto lines = loop.run(audit.latest(2));
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(lines[0].find(R"("status":"ok")"), std::string::npos);
    EXPECT_EQ(lines[1], recorded);
}

TEST_F(PipelineLedgerTest, TheEventOfItsRequestIsDurableWithTheAdmissionAndToldOnceItIsSent) {
    std::string recorded;
    std::vector<std::string> told;
    answer = [&]() -> Outcome {
        recorded = store.event();
        told = heard.lines;
        return ToolResult{};
    };
    call();
    EXPECT_EQ(recorded, "request of call-1");
    EXPECT_EQ(told, std::vector<std::string>{"+call-1"});
    crash();
    call();
    EXPECT_EQ(heard.lines, (std::vector<std::string>{"+call-1", "-call-1 ok"}))
        << "a replay tells nothing";
}

TEST_F(PipelineLedgerTest, CallsWithSideEffectsAreRefusedWhileTheAuditStoreFails) {
    audit_store->set_failing(true);
    audit.append_call("caller/ann", [](std::string& out) { out += "{}"; });
    audit.flush_and_wait();
    EXPECT_EQ(said(call()), "UNAVAILABLE");
    audit_store->set_failing(false);
    audit.flush_and_wait();
    EXPECT_EQ(said(call()), "run 1");
    EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace crab::core
