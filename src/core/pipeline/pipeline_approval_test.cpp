#include "core/pipeline/pipeline.hpp"

#include "base/task/test_loop.hpp"
#include "core/approvals/approvals.hpp"
#include "core/approvals/test_approval_store.hpp"
#include "core/call/function_host.hpp"
#include "core/call/test_tools.hpp"
#include "json/value.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

/// Runs at once, and says where.
class CountingHost final : public ToolHost {
public:
    Task<Outcome> run(AdmittedCall call, FrameSink&) override {
        ++runs;
        deadline = call.deadline();
        ToolResult result;
        result.content = "done";
        co_return result;
    }
    Task<Result<std::string>> place_of(const Call&, const Principal&) const override {
        co_return place;
    }
    int runs = 0;
    std::string place;
    Deadline deadline{};
};

/// A pipeline whose policy asks for an approval of `sms`, and an operator who watches.
struct PipelineApprovalTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    IdSource ids{loop.clock, 1};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>()};
    Ledger ledger{loop.clock, {}};
    EarlyCancels early_cancels;
    std::shared_ptr<AuditStoreMemory> audit_store = std::make_shared<AuditStoreMemory>();
    AuditLog audit{audit_store, pool, loop.clock};
    ApprovalStoreMemory store;
    std::unique_ptr<Approvals> approvals = Approvals::load(store, loop.clock, {}).value();
    std::optional<Approvals::Watch> watch{std::in_place, *approvals};
    std::shared_ptr<CountingHost> host = std::make_shared<CountingHost>();
    std::optional<Pipeline> pipeline;
    ToolSpec spec;
    CallRules set;

    struct Asked {
        explicit Asked(std::string call_id) : id(std::move(call_id)) {}
        std::string id, tool, args = R"({"to":"Bob"})";
        PrincipalRef principal = principal_of("caller/ann");
        Call call;
        FrameSink sink;
        std::shared_ptr<Started<CallEnd>> running;

        bool ended() const { return running->ended(); }
        const Outcome& outcome() const { return *running->get().outcome; }
        ErrorCode code() const {
            return ended() && !outcome() ? outcome().error().code : ErrorCode::kInternal;
        }
        std::string content() const {
            return !ended() ? "waits" : outcome() ? outcome()->content : outcome().error().message;
        }
    };

    PipelineApprovalTest() {
        spec.max_concurrency = 1;
        use({.needs_approval = {"sms"}, .deny = {}});
        offer();
        pipeline.emplace(CallServices{.clock = loop.clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = audit,
                                      .approvals = approvals.get()},
                         loop.executor(), loop.timers, ids);
    }
    ~PipelineApprovalTest() override {
        approvals->stop();
        loop.settle();  // what still waits ends while all that it uses stands
        audit.flush_and_wait();
    }

    struct Says {
        std::vector<const char*> needs_approval, deny;
    };
    void use(const Says& says, std::vector<RateRule> rates = {}) {
        PolicyRule rule;
        for (const char* name : says.needs_approval) rule.call_needs_approval.emplace_back(name);
        for (const char* name : says.deny) rule.call_deny.emplace_back(name);
        set.policy = policy_of({rule});
        set.rates = std::make_shared<RateLimits>(std::move(rates));
        rules.set(std::make_shared<const CallRules>(set));
    }
    void offer(std::string name = "sms", std::optional<PolicyLimits> limits = {}) {
        auto tool = tool_of(std::move(name), "phone", ConnectionId{1}, {}, spec);
        tool->host = host;
        if (limits) tool->limits = std::make_shared<const PolicyLimits>(*limits);
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    }
    std::shared_ptr<Asked> start(std::string id = "call-1", std::string tool = "sms",
                                 const std::function<void(Call&)>& also = {}) {
        auto asked = all.emplace_back(std::make_shared<Asked>(std::move(id)));
        Call& call = asked->call;
        call.id = asked->id;
        call.args = asked->args;
        call.front = "test";
        asked->running = std::make_shared<Started<CallEnd>>();
        call.canceller = &asked->running->signal;
        if (also) also(call);
        asked->tool = std::move(tool);
        call.tool = asked->tool;
        auto ended = [running = asked->running](std::exception_ptr failure,
                                                std::optional<CallEnd> end) {
            running->failure = failure;
            running->result = std::move(end);
        };
        spawn(loop.executor(),
              pipeline->run(AuthenticatedCall(call, asked->principal), asked->sink),
              std::move(ended), &asked->running->signal);
        loop.settle();
        return asked;
    }
    /// Decides the question that was put last.
    void decide(bool allow, ApprovalScope scope = ApprovalScope::kOnce) {
        ASSERT_FALSE(approvals->list().empty());
        ASSERT_TRUE(approvals->decide(approvals->list().back().question->id,
                                      {.allow = allow, .scope = scope, .by = "local/1"}));
        loop.settle();
    }
    json::Value last_record() {
        audit.flush_and_wait();
        return json::Value::parse(audit_store->records().back()).value();
    }
    std::vector<std::shared_ptr<Asked>> all;
};

TEST_F(PipelineApprovalTest, AnApprovedCallRunsOnceAndItsRecordSaysWhoDecided) {
    const auto call = start();
    EXPECT_EQ(call->content(), "waits");
    EXPECT_EQ(pipeline->running().list().at(0).stage, Stage::kAsked);
    const auto question = approvals->list().at(0).question;
    EXPECT_EQ(question->args, call->args);
    EXPECT_EQ(question->subject.tool, "phone__sms");
    loop.advance(3s);
    decide(true);
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(host->runs, 1);
    const json::Value record = last_record();
    EXPECT_EQ(*record.find("approval")->find("by")->as_string(), "local/1");
    EXPECT_EQ(*record.find("approval")->find("state")->as_string(), "allowed");
    EXPECT_EQ(record.find("approval")->find("us")->as_int64(), 3'000'000);
}

TEST_F(PipelineApprovalTest, ADeniedCallDoesNotRunAndCanBeMadeAgainOnlyUnderAnotherId) {
    const auto call = start();
    decide(false);
    EXPECT_EQ(call->code(), ErrorCode::kForbidden);
    EXPECT_EQ(start()->code(), ErrorCode::kForbidden);
    EXPECT_EQ(start("call-2")->content(), "waits");
    EXPECT_EQ(host->runs, 0);
}

TEST_F(PipelineApprovalTest, WithNobodyToAskItIsRefusedAtOnceWithTheIdThatLetsItThrough) {
    watch.reset();
    const auto call = start();
    EXPECT_EQ(call->code(), ErrorCode::kApprovalRequired);
    const std::string id = approvals->list().at(0).question->id;
    EXPECT_NE(call->content().find("crab approvals allow " + id), std::string::npos);
    EXPECT_EQ(call->running->get().approval_id, id);
    decide(true);
    EXPECT_EQ(start("call-2")->content(), "done");
    EXPECT_EQ(start("call-3")->code(), ErrorCode::kApprovalRequired);
}

TEST_F(PipelineApprovalTest, ACallThatNobodyDecidesEndsWithItsDeadline) {
    const auto call = start("call-1", "sms", [](Call& made) { made.timeout = 2s; });
    loop.advance(2s);
    EXPECT_EQ(call->code(), ErrorCode::kApprovalRequired);
    EXPECT_EQ(host->runs, 0);
}

TEST_F(PipelineApprovalTest, WaitingStopsTheClockWhereTheFrontSaysSo) {
    const auto call = start("call-1", "sms", [](Call& made) {
        made.timeout = 2s;
        made.approval_stops_clock = true;
    });
    loop.advance(20s);
    const SteadyTime now = loop.clock.steady_now();
    decide(true);
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(host->deadline, now + 2s);
}

TEST_F(PipelineApprovalTest, TheCallersOwnDeadlineHoldsAllTheSame) {
    const auto call = start("call-1", "sms", [this](Call& made) {
        made.caller_deadline = loop.in(5s);
        made.approval_stops_clock = true;
    });
    loop.advance(5s);
    EXPECT_EQ(call->code(), ErrorCode::kApprovalRequired);
}

TEST_F(PipelineApprovalTest, ACancelledCallTakesItsQuestionBack) {
    const auto call = start();
    loop.cancel(*call->running);
    EXPECT_EQ(call->code(), ErrorCode::kCancelled);
    EXPECT_EQ(approvals->pending(), 0u);
}

TEST_F(PipelineApprovalTest, AGatewayThatStopsAnswersWhoeverWaits) {
    const auto call = start();
    approvals->stop();
    loop.settle();
    EXPECT_EQ(call->code(), ErrorCode::kUnavailable);
}

TEST_F(PipelineApprovalTest, AWaitingCallHoldsNoPlaceAtItsTool) {
    offer("echo");
    const auto waits = start();
    EXPECT_EQ(start("call-2", "echo")->content(), "done");
    const auto second = start("call-3");
    EXPECT_EQ(second->content(), "waits");
    EXPECT_EQ(approvals->pending(), 2u) << "both are asked about, although only one runs at a time";
}

TEST_F(PipelineApprovalTest, ARepeatJoinsInsteadOfAskingAgain) {
    const auto first = start(), repeat = start();
    EXPECT_EQ(approvals->pending(), 1u);
    decide(true);
    EXPECT_EQ(first->content(), "done");
    EXPECT_EQ(repeat->content(), "done");
    EXPECT_TRUE(repeat->running->get().replayed);
    EXPECT_EQ(host->runs, 1);
}

TEST_F(PipelineApprovalTest, ADenialAnswersTheRepeatThatJoined) {
    const auto first = start(), repeat = start();
    decide(false);
    EXPECT_EQ(first->code(), ErrorCode::kForbidden);
    EXPECT_EQ(repeat->code(), ErrorCode::kForbidden);
    EXPECT_EQ(approvals->pending(), 0u);
}

TEST_F(PipelineApprovalTest, ACallTakesFromItsCallersRateOnce) {
    use({.needs_approval = {"sms"}, .deny = {}},
        {{.principal = {}, .tool = {}, .per_second = 0.01, .burst = 1}});
    const auto call = start();
    decide(true);
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(start("call-2")->code(), ErrorCode::kRateLimited)
        << "and is refused before anybody is asked";
    EXPECT_EQ(approvals->pending(), 0u);
}

TEST_F(PipelineApprovalTest, BadArgumentsBotherNobody) {
    spec.input_schema = R"({"type":"object","properties":{"to":{"type":"integer"}}})";
    offer();
    EXPECT_EQ(start()->code(), ErrorCode::kInvalidArgs);
    EXPECT_TRUE(approvals->list().empty());
}

TEST_F(PipelineApprovalTest, AToolThatLeftMeanwhileIsNotCalled) {
    const auto call = start();
    registry.replace(ConnectionId{1}, {});
    decide(true);
    EXPECT_EQ(call->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 0);
}

TEST_F(PipelineApprovalTest, AToolThatCameBackUnchangedIsCalledAndAnotherIsNot) {
    const auto call = start();
    auto newer = std::make_shared<CountingHost>();
    std::swap(host, newer);
    offer();
    decide(true);
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(host->runs, 1);
    EXPECT_EQ(newer->runs, 0);

    const auto other = start("call-2");
    spec.input_schema = R"({"type":"object","properties":{"to":{"type":"string"}}})";
    offer();
    decide(true);
    EXPECT_EQ(other->code(), ErrorCode::kUnavailable);
}

TEST_F(PipelineApprovalTest, ARuleThatDeniesMeanwhileWins) {
    const auto call = start();
    use({.needs_approval = {"sms"}, .deny = {"sms"}});
    decide(true);
    EXPECT_EQ(host->runs, 0);
    EXPECT_FALSE(call->outcome());
}

TEST_F(PipelineApprovalTest, ApprovalByOneRuleIsNotApprovalByAnother) {
    const auto call = start();
    use({.needs_approval = {"other", "sms*"}, .deny = {}});
    decide(true);
    EXPECT_EQ(call->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 0);
}

TEST_F(PipelineApprovalTest, LabelsThatOnlyAPersonMayGrantAreAskedFor) {
    PolicyLimits limits;
    limits.ceilings.privilege = Privilege::kPrivileged;
    offer("make", limits);
    EXPECT_EQ(start("call-1", "make")->content(), "done") << "the default needs nobody";
    const auto elevated =
        start("call-2", "make", [](Call& made) { made.policy.privilege_level = "ELEVATED"; });
    EXPECT_EQ(elevated->content(), "waits");
    EXPECT_EQ(approvals->list().back().question->subject.rule, "");
    decide(true, ApprovalScope::kAlways);
    EXPECT_EQ(elevated->content(), "done");
    EXPECT_EQ(start("call-3", "make", [](Call& made) { made.policy.privilege_level = "ELEVATED"; })
                  ->content(),
              "done");
    EXPECT_EQ(
        start("call-4", "make", [](Call& made) { made.policy.privilege_level = "PRIVILEGED"; })
            ->content(),
        "waits");
    const std::size_t asked = approvals->list().size();
    host->place = "garden/side";
    EXPECT_EQ(start("call-5", "make", [](Call& made) { made.policy.privilege_level = "ELEVATED"; })
                  ->content(),
              "waits")
        << "another worktree";
    EXPECT_EQ(approvals->list().size(), asked + 1);
}

TEST_F(PipelineApprovalTest, WhereNobodyDecidesAnythingSuchACallIsRefused) {
    pipeline.emplace(CallServices{.clock = loop.clock,
                                  .registry = registry,
                                  .rules = rules,
                                  .ledger = ledger,
                                  .early_cancels = early_cancels,
                                  .audit = audit},
                     loop.executor(), loop.timers, ids);
    EXPECT_EQ(start()->code(), ErrorCode::kApprovalRequired);
}

}  // namespace
}  // namespace crab::core
