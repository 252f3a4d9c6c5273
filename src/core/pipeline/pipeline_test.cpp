#include "core/pipeline/pipeline.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"
#include "core/call/test_tools.hpp"
#include "core/call/tool_host.hpp"
#include "core/pipeline/admit_stage.hpp"
#include "core/pipeline/approve_stage.hpp"
#include "core/pipeline/dispatch_stage.hpp"
#include "core/pipeline/hook_stage.hpp"
#include "core/pipeline/limit_stage.hpp"
#include "core/pipeline/record_stage.hpp"
#include "core/pipeline/validate_stage.hpp"
#include "json/value.hpp"

#include <deque>
#include <functional>
#include <future>
#include <stdexcept>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

// Each stage can only be made from the one before, and only by its own stage of the pipeline:
// leaving one out, or passing them in another order, does not compile.
template <class Later, class... Earlier>
constexpr bool kOnlyAStageMakes =
    !(std::is_constructible_v<Later, Earlier> || ...) &&
    !(std::is_convertible_v<Earlier, Later> || ...) && !std::is_default_constructible_v<Later>;
static_assert(std::is_constructible_v<AuthenticatedCall, Call&, const PrincipalRef&>);
static_assert(!std::is_constructible_v<AuthorizedCall, AuthenticatedCall, const Tool&>);
static_assert(kOnlyAStageMakes<AuthorizedCall, AuthenticatedCall>);
static_assert(kOnlyAStageMakes<HookedCall, AuthenticatedCall, AuthorizedCall>);
static_assert(kOnlyAStageMakes<ValidatedCall, AuthenticatedCall, AuthorizedCall, HookedCall>);
static_assert(
    kOnlyAStageMakes<UniqueCall, AuthenticatedCall, AuthorizedCall, HookedCall, ValidatedCall>);
static_assert(kOnlyAStageMakes<ApprovedCall, AuthenticatedCall, AuthorizedCall, HookedCall,
                               ValidatedCall, UniqueCall>);
static_assert(kOnlyAStageMakes<AdmittedCall, AuthenticatedCall, AuthorizedCall, HookedCall,
                               ValidatedCall, UniqueCall, ApprovedCall>);
static_assert(
    !std::is_constructible_v<AdmittedCall, ApprovedCall, Deadline,
                             const std::optional<std::string>&, std::shared_ptr<LateCall>&>);
static_assert(kOnlyAStageMakes<RecordedCall, AuthenticatedCall, AuthorizedCall, HookedCall,
                               ValidatedCall, UniqueCall, ApprovedCall, AdmittedCall>);
static_assert(!std::is_copy_constructible_v<Call>);

// And each stage takes what the one before it has made, and nothing earlier.
template <auto Pass, class Stage, class... Calls>
constexpr bool kTakesNoneOf =
    !(std::is_invocable_v<decltype(Pass), Stage, Calls, CallInProgress&> || ...);
template <auto Pass, class... Calls>
constexpr bool kStaticTakesNoneOf =
    !(std::is_invocable_v<decltype(Pass), Calls, CallInProgress&> || ...);
static_assert(kStaticTakesNoneOf<&HookStage::pass, AuthenticatedCall>);
static_assert(kStaticTakesNoneOf<&ValidateStage::pass, AuthenticatedCall, AuthorizedCall>);
static_assert(
    kTakesNoneOf<&AdmitStage::pass, AdmitStage&, AuthenticatedCall, AuthorizedCall, HookedCall>);
static_assert(kTakesNoneOf<&ApproveStage::pass, ApproveStage&, AuthenticatedCall, AuthorizedCall,
                           HookedCall, ValidatedCall>);
static_assert(kStaticTakesNoneOf<&LimitStage::pass, AuthenticatedCall, AuthorizedCall, HookedCall,
                                 ValidatedCall, UniqueCall>);
static_assert(kTakesNoneOf<&RecordStage::pass, RecordStage&, AuthenticatedCall, AuthorizedCall,
                           HookedCall, ValidatedCall, UniqueCall, ApprovedCall>);
static_assert(!std::is_invocable_v<decltype(&DispatchStage::pass), DispatchStage&, AdmittedCall,
                                   FrameSink&, CallInProgress&> &&
              std::is_invocable_v<decltype(&DispatchStage::pass), DispatchStage&, RecordedCall,
                                  FrameSink&, CallInProgress&>);

// A host takes what has passed them all.
static_assert(
    std::is_invocable_v<decltype(&ToolHost::run), ToolHost&, AdmittedCall, FrameSink&> &&
    !std::is_invocable_v<decltype(&ToolHost::run), ToolHost&, ApprovedCall, FrameSink&> &&
    !std::is_invocable_v<decltype(&ToolHost::run), ToolHost&, ValidatedCall, FrameSink&> &&
    !std::is_invocable_v<decltype(&ToolHost::run), ToolHost&, AuthorizedCall, FrameSink&> &&
    !std::is_invocable_v<decltype(&ToolHost::run), ToolHost&, AuthenticatedCall, FrameSink&>);

Outcome text_result(std::string content) {
    ToolResult result;
    result.content = std::move(content);
    return result;
}
Outcome error_of(ErrorCode code, std::optional<bool> retryable = {}) {
    return fail(Error{.code = code,
                      .message = "said the host",
                      .details = {},
                      .retryable = retryable,
                      .retry_after = {}});
}

/// Answers with what the test has laid out, the last of it again and again; or waits until it is
/// told, cancelled or late.
class FakeHost final : public ToolHost {
public:
    explicit FakeHost(TimerWheel& timers) : timers_(timers) {}

    Task<Outcome> run(AdmittedCall call, FrameSink&) override {
        ++runs;
        deadlines.push_back(call.deadline());
        args.emplace_back(call.args());
        attempts.push_back(call.attempt());
        if (on_run) on_run();
        if (on_call) on_call(call.call());
        if (waits) {
            Waiter waiter(timers_);
            waiting = &waiter;
            const WaitEnd end = co_await waiter.wait(call.deadline());
            waiting = nullptr;
            if (end == WaitEnd::kCancelled) co_return error_of(ErrorCode::kCancelled);
            if (end == WaitEnd::kExpired) co_return error_of(ErrorCode::kTimeout);
        }
        if (throws) throw std::runtime_error("inside");
        Outcome answer = answers.empty() ? text_result("done") : answers.front();
        if (answers.size() > 1) answers.pop_front();
        co_return answer;
    }

    int runs = 0;
    bool waits = false, throws = false;
    std::function<void()> on_run;
    std::function<void(const Call&)> on_call;
    std::deque<Outcome> answers;
    std::vector<Deadline> deadlines;
    std::vector<std::string> args;
    std::vector<int> attempts;
    Waiter* waiting = nullptr;

private:
    TimerWheel& timers_;
};

struct FakeHook final : Hook {
    explicit FakeHook(TimerWheel& timers) : timers(timers) {}
    std::string_view name() const override { return "fake"; }
    bool applies_to(const Tool& tool) const override {
        return only.empty() || tool.spec.name == only;
    }
    Task<HookAnswer> before(HookView view) override {
        ++asked;
        seen_args = view.call.args;
        if (waits) {
            Waiter waiter(timers);
            co_await waiter.wait(view.deadline);
        }
        if (throws) throw std::runtime_error("inside");
        co_return answer;
    }
    Task<void> after(HookView view, const Outcome& outcome) override {
        told.push_back(status_of(outcome));
        if (waits_after) {
            Waiter waiter(timers);
            co_await waiter.wait(view.deadline);
        }
        if (throws_after) throw std::runtime_error("inside");
        co_return;
    }
    TimerWheel& timers;
    std::string only;
    HookAnswer answer = Proceed{};
    bool waits = false, waits_after = false, throws = false, throws_after = false;
    int asked = 0;
    std::string seen_args;
    std::vector<Status> told;
};

/// A call as a front holds it, with all the text that it views.
struct Front {
    std::string id, tool = "echo", args = "{}", key;
    PrincipalRef principal = principal_of("caller/ann");
    Call call;
    FrameSink sink;
    std::shared_ptr<Started<CallEnd>> running;

    bool ended() const { return running->ended(); }
    const Outcome& outcome() { return *running->get().outcome; }
    ErrorCode code() {
        EXPECT_TRUE(ended()) << "the call has not ended";
        EXPECT_FALSE(outcome()) << "the call succeeded";
        return ended() && !outcome() ? outcome().error().code : ErrorCode::kInternal;
    }
    std::string content() {
        return outcome() ? outcome()->content : "error: " + outcome().error().message;
    }
};

struct PipelineTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    IdSource ids{loop.clock, 1};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>()};
    Ledger ledger{loop.clock, {}};
    EarlyCancels early_cancels;
    std::shared_ptr<AuditStoreMemory> store = std::make_shared<AuditStoreMemory>();
    std::unique_ptr<AuditLog> audit = std::make_unique<AuditLog>(store, pool, loop.clock);
    std::shared_ptr<FakeHost> host = std::make_shared<FakeHost>(loop.timers);
    std::shared_ptr<FakeHook> hook = std::make_shared<FakeHook>(loop.timers);
    HeardCalls heard;
    CallRules set;
    std::optional<Pipeline> pipeline;
    ToolSpec spec;

    PipelineTest() {
        spec.input_schema = R"({"type":"object","properties":{"n":{"type":"integer"}}})";
        set.policy = policy_of();
        set.rates = std::make_shared<RateLimits>(std::vector<RateRule>{});
    }
    ~PipelineTest() override { audit->flush_and_wait(); }

    void use_rules() { rules.set(std::make_shared<const CallRules>(set)); }
    void use_hook() { set.hooks = {hook}; }
    ToolRef offer(std::string name = "echo", std::string slug = "phone",
                  std::shared_ptr<ToolHost> by = nullptr) {
        auto tool = tool_of(std::move(name), slug, ConnectionId{1}, {}, spec);
        tool->host = by ? by : host;
        registry.change(ConnectionId{slug == "phone" ? 1u : 2u}, std::array<ToolRef, 1>{tool}, {});
        return tool;
    }
    void ready() {
        use_rules();
        offer();
        make_pipeline();
    }
    void make_pipeline() {
        pipeline.emplace(CallServices{.clock = loop.clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = *audit,
                                      .events = &heard},
                         loop.executor(), loop.timers, ids);
    }
    std::unique_ptr<Front> front(std::string id = {}) {
        auto made = std::make_unique<Front>();
        made->id = std::move(id);
        return made;
    }
    /// Starts the call and runs it up to where it waits.
    std::unique_ptr<Front> start(std::unique_ptr<Front> front) {
        Call& call = front->call;
        call.id = front->id;
        call.tool = front->tool;
        call.args = front->args;
        call.idempotency_key = front->key;
        call.front = "test";
        front->running = std::make_shared<Started<CallEnd>>();
        call.canceller = &front->running->signal;
        auto ended = [running = front->running](std::exception_ptr failure,
                                                std::optional<CallEnd> end) {
            running->failure = failure;
            running->result = std::move(end);
        };
        spawn(loop.executor(),
              pipeline->run(AuthenticatedCall(call, front->principal), front->sink),
              std::move(ended), &front->running->signal);
        loop.settle();
        return front;
    }
    std::unique_ptr<Front> start(std::string id = {}) { return start(front(std::move(id))); }
    /// The same, and lets the time of its backoffs pass.
    std::unique_ptr<Front> finish(std::unique_ptr<Front> front) {
        if (!front->running) front = start(std::move(front));
        for (int i = 0; i < 2000 && !front->ended(); ++i) loop.advance(TimerWheel::kTick);
        return front;
    }
    std::vector<json::Value> records(std::string_view status_other_than = "dispatching") {
        audit->flush_and_wait();
        std::vector<json::Value> found;
        for (const std::string& text : store->records()) {
            auto value = json::Value::parse(text);
            EXPECT_TRUE(value) << text;
            if (*value->find("status")->as_string() != status_other_than)
                found.push_back(std::move(*value));
        }
        return found;
    }
    /// One record for each of `calls`, in whatever way it ended, and an end of each that was sent.
    void expect_told(std::size_t calls) {
        EXPECT_EQ(records().size(), calls);
        EXPECT_TRUE(heard.all_ended());
        EXPECT_EQ(pipeline->running().size(), 0u);
    }
};

/// A schema with two ways at each of 40 levels, which all fail at the end.
std::string costly_schema() {
    std::string text = R"({"$ref":"#/$defs/0","$defs":{)";
    for (int i = 0; i < 40; ++i)
        text +=
            fmt::format(R"("{}":{{"anyOf":[{{"$ref":"#/$defs/{}"}},{{"$ref":"#/$defs/{}"}}]}},)", i,
                        i + 1, i + 1);
    return text + R"("40":{"type":"object","required":["x"]}}})";
}

TEST_F(PipelineTest, ArgumentsThatCostTooMuchToCheckAreRefusedAndTheToolIsNotAsked) {
    spec.input_schema = costly_schema();
    ready();
    auto call = start(front("costly"));
    ASSERT_TRUE(call->running->result);
    const Outcome& outcome = *call->running->result->outcome;
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgs);
    EXPECT_NE(outcome.error().message.find("too many steps"), std::string::npos);
    EXPECT_NE(outcome.error().details.find(R"("rule":"cost")"), std::string::npos);
}

TEST_F(PipelineTest, ACallRunsOnceAndIsToldOnce) {
    ready();
    auto call = front();
    call->args = R"({"n":1})";
    call = start(std::move(call));
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(call->call.id.size(), 36u) << "it was given an id";
    EXPECT_EQ(host->args, std::vector<std::string>{R"({"n":1})"});
    expect_told(1);
    EXPECT_EQ(heard.lines, (std::vector<std::string>{"+" + std::string(call->call.id),
                                                     "-" + std::string(call->call.id) + " ok"}));
    EXPECT_EQ(*records()[0].find("call_id")->as_string(), call->call.id);
}

TEST_F(PipelineTest, ACallWithRetriesIsToldOnceAndAReplayIsNot) {
    ready();
    host->answers = {fail(Error{.code = ErrorCode::kUnavailable,
                                .message = "busy",
                                .details = {},
                                .retryable = true,
                                .retry_after = {}}),
                     text_result("done")};
    auto call = start("c1");
    loop.advance(3s);
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(start("c1")->content(), "done");
    EXPECT_EQ(heard.lines, (std::vector<std::string>{"+c1", "-c1 ok"}));
}

TEST_F(PipelineTest, NobodyIsToldOfCallsThatNobodyWantsOrWhoseRequestWasNotTaken) {
    ready();
    heard.wanted = false;
    EXPECT_EQ(start("c1")->content(), "done");
    heard.wanted = true;
    heard.refusing = true;
    EXPECT_EQ(start("c2")->content(), "done") << "an event is no condition of the call";
    EXPECT_TRUE(heard.lines.empty());
}

/// A tool whose execution policy is enforced where it runs.
struct PipelineLimitsTest : PipelineTest {
    PipelineLimitsTest() {
        auto limits = std::make_shared<PolicyLimits>();
        limits->defaults.timeout = Milliseconds(1'000);
        limits->ceilings.timeout = Milliseconds(2'000);
        limits->ceilings.max_retries = 4;
        spec.idempotent = true;
        use_rules();
        auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
        tool->host = host;
        tool->limits = limits;
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
        make_pipeline();
    }
};

TEST_F(PipelineLimitsTest, TheEffectivePolicyBindsTheCallAndIsTold) {
    auto call = front();
    call->call.timeout = Milliseconds(9'000);
    call->call.policy.network_policy = "restricted";
    call = start(std::move(call));
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(host->deadlines.at(0), loop.in(2s)) << "the ceiling, not what was asked for";
    const auto policy = call->running->get().policy;
    ASSERT_NE(policy, nullptr);
    EXPECT_EQ(policy->network, Network::kDenyAll);
    EXPECT_EQ(policy->clamped, (std::vector<std::string_view>{"timeout", "network_policy"}));
}

TEST_F(PipelineLimitsTest, AnUnknownLabelIsAnInvalidArgumentAndNothingRuns) {
    auto call = front();
    call->call.policy.privilege_level = "root";
    EXPECT_EQ(start(std::move(call))->code(), ErrorCode::kInvalidArgs);
    EXPECT_EQ(host->runs, 0);
}

TEST_F(PipelineLimitsTest, RetriesAreThoseOfThePolicyAndNoBackoffMeansNone) {
    host->answers = {error_of(ErrorCode::kUnavailable)};
    auto call = front();
    call->call.policy.max_retries = 9;
    call->call.policy.backoff = "exponential";  // at most 750 ms in all, of the second that it has
    call = finish(std::move(call));
    EXPECT_EQ(host->runs, 1 + 4);
    auto once = front();
    once->call.policy.max_retries = 3;
    once->call.policy.backoff = "none";
    finish(std::move(once));
    EXPECT_EQ(host->runs, 1 + 4 + 1);
}

TEST_F(PipelineTest, NoArgumentsStandForAnEmptyObject) {
    ready();
    for (const char* args : {"", "null", "{}", " null "}) {
        auto call = front();
        call->args = args;
        EXPECT_EQ(start(std::move(call))->content(), "done") << args;
        EXPECT_EQ(host->args.back(), "{}") << args;
    }
}

TEST_F(PipelineTest, ARefusedNullIsAnAbsentMemberOfToolsThatSaySo) {
    ready();
    auto strict = front();
    strict->args = R"({"n":null})";
    EXPECT_EQ(start(std::move(strict))->code(), ErrorCode::kInvalidArgs);
    const auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
    tool->host = host;
    tool->drops_nulls = true;
    registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    auto lenient = front();
    lenient->args = R"({"n":null,"m":null})";
    EXPECT_EQ(start(std::move(lenient))->content(), "done");
    EXPECT_EQ(host->args.back(), R"({"m":null})");
}

TEST_F(PipelineTest, AnUnknownToolIsNotFound) {
    ready();
    auto call = front();
    call->tool = "ecko";
    call = start(std::move(call));
    EXPECT_EQ(call->code(), ErrorCode::kToolNotFound);
    EXPECT_NE(call->outcome().error().message.find("echo"), std::string::npos);
    expect_told(1);
    EXPECT_TRUE(heard.lines.empty()) << "what is not sent tells nothing";
}

TEST_F(PipelineTest, WhatThePolicyDeniesIsNotFoundAndWhatItsArgumentsDenyIsForbidden) {
    PolicyRule rule;
    rule.call_deny = globs({"echo"});
    set.policy = policy_of({rule});
    ready();
    EXPECT_EQ(start()->code(), ErrorCode::kToolNotFound);
    rule.where = {
        {.pointer = "/n", .equals = "7", .glob = {}, .matches = {}, .min = {}, .max = {}}};
    set.policy = policy_of({rule});
    use_rules();
    auto call = front();
    call->args = R"({"n":7})";
    EXPECT_EQ(start(std::move(call))->code(), ErrorCode::kForbidden);
    EXPECT_EQ(start()->content(), "done");
    EXPECT_EQ(host->runs, 1);
    expect_told(3);
}

TEST_F(PipelineTest, AnotherTenantsCallIsForbidden) {
    ready();
    auto call = front();
    call->principal = principal_of("caller/ann", {Role::kCaller}, "acme");
    call->call.tenant = "other";
    EXPECT_EQ(start(std::move(call))->code(), ErrorCode::kForbidden);
    expect_told(1);
}

TEST_F(PipelineTest, ThePipelineSettlesForWhichAgentACallIsBeforeItsHostLooks) {
    ready();
    const Call* seen = nullptr;
    std::string agent;
    bool acts = true;
    host->on_call = [&](const Call& call) {
        seen = &call, agent = call.context.agent_id, acts = call.acts_for_agent;
    };
    auto call = front();
    call->principal = principal_of("caller/ann");
    call->call.context.agent_id = "butler";
    EXPECT_EQ(start(std::move(call))->content(), "done");
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(agent, "caller/ann/butler");
    EXPECT_FALSE(acts);
    set.callers_are_gateways = true;
    use_rules();
    call = front();
    call->call.context.agent_id = "caller/ann/butler";
    EXPECT_EQ(start(std::move(call))->content(), "done");
    EXPECT_EQ(agent, "caller/ann/butler");
    EXPECT_TRUE(acts);
}

TEST_F(PipelineTest, ACallThatNeedsApprovalIsNotRun) {
    PolicyRule rule;
    rule.call_needs_approval = globs({"echo"});
    set.policy = policy_of({rule});
    ready();
    EXPECT_EQ(start()->code(), ErrorCode::kApprovalRequired);
    EXPECT_EQ(host->runs, 0);
    expect_told(1);
}

TEST_F(PipelineTest, AHookMayDenyAndItsFailureDenies) {
    use_hook();
    ready();
    hook->answer = Deny{"not on Sundays"};
    auto denied = start();
    EXPECT_EQ(denied->code(), ErrorCode::kForbidden);
    EXPECT_EQ(denied->outcome().error().message, "not on Sundays");
    hook->throws = true;
    EXPECT_EQ(start()->code(), ErrorCode::kForbidden);
    EXPECT_EQ(host->runs, 0);
    EXPECT_EQ(hook->told, (std::vector{Status::kError, Status::kError}));
    expect_told(2);
}

TEST_F(PipelineTest, AHooksArgumentsAreAuthorizedAndValidatedAgain) {
    PolicyRule rule;
    rule.call_deny = globs({"echo"});
    rule.where = {
        {.pointer = "/n", .equals = "7", .glob = {}, .matches = {}, .min = {}, .max = {}}};
    set.policy = policy_of({rule});
    use_hook();
    ready();
    hook->answer = Replace{R"({"n":7})"};
    EXPECT_EQ(start()->code(), ErrorCode::kForbidden);
    hook->answer = Replace{R"({"n":"seven"})"};
    auto invalid = start();
    EXPECT_EQ(invalid->code(), ErrorCode::kInvalidArgs);
    const auto details = json::Value::parse(invalid->outcome().error().details).value();
    ASSERT_NE(details.resolve("/errors/0/pointer"), nullptr) << details.dump();
    EXPECT_EQ(*details.resolve("/errors/0/pointer")->as_string(), "/n");
    hook->answer = Replace{"{"};
    EXPECT_EQ(start()->code(), ErrorCode::kInvalidArgs);
    hook->answer = Replace{R"({"n":3})"};
    EXPECT_EQ(start()->content(), "done");
    EXPECT_EQ(host->args, std::vector<std::string>{R"({"n":3})"});
    expect_told(4);
}

TEST_F(PipelineTest, EveryHookSeesWhatTheOneBeforeItMade) {
    auto second = std::make_shared<FakeHook>(loop.timers);
    hook->answer = Replace{R"({"n":3})"};
    set.hooks = {hook, second};
    ready();
    EXPECT_EQ(start()->content(), "done");
    EXPECT_EQ(second->seen_args, R"({"n":3})");
    EXPECT_EQ(host->args.back(), R"({"n":3})");
}

TEST_F(PipelineTest, ArgumentsMaySurviveAHookThatWaitsWhileOtherCallsParse) {
    use_hook();
    hook->only = "slow";
    hook->waits = true;
    ready();
    offer("slow");
    auto slow = front();
    slow->tool = "slow";
    slow->args = R"({"n":1})";
    slow->call.caller_deadline = loop.in(1s);
    slow = start(std::move(slow));
    EXPECT_FALSE(slow->ended());
    auto other = front();
    other->args = R"({"n":222,"more":"text that uses the parser"})";
    EXPECT_EQ(start(std::move(other))->content(), "done");
    loop.advance(500ms);
    loop.cancel(*slow->running);
    EXPECT_EQ(slow->code(), ErrorCode::kCancelled);
}

TEST_F(PipelineTest, AHookIsToldOfEveryEndAndItsOwnFailureThenChangesNothing) {
    use_hook();
    hook->throws_after = true;
    ready();
    EXPECT_EQ(start()->content(), "done");
    host->answers = {error_of(ErrorCode::kToolFailed)};
    EXPECT_EQ(start()->code(), ErrorCode::kToolFailed);
    EXPECT_EQ(hook->told, (std::vector{Status::kOk, Status::kError}));
    expect_told(2);
}

TEST_F(PipelineTest, AHookThatDwellsOnAnEndKeepsTheAnswerUntilTheCallsDeadlineOnly) {
    use_hook();
    hook->waits_after = true;
    ready();
    auto call = front();
    call->call.caller_deadline = loop.in(1s);
    call = start(std::move(call));
    loop.advance(900ms);
    EXPECT_FALSE(call->ended());
    loop.advance(200ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(call->content(), "done");
}

TEST_F(PipelineTest, ArgumentsWithTwoMembersOfOneNameReachNeitherARuleNorATool) {
    PolicyRule rule;
    rule.call_deny = globs({"echo"});
    rule.where = {
        {.pointer = "/n", .equals = "7", .glob = {}, .matches = {}, .min = {}, .max = {}}};
    set.policy = policy_of({rule});
    ready();
    for (const char* args :
         {R"({"n":3,"n":7})", R"({"n":3,"\u006e":7})", R"({"n":3,"more":[{"deep":1,"deep":2}]})"}) {
        auto call = front();
        call->args = args;
        call = start(std::move(call));
        EXPECT_EQ(call->code(), ErrorCode::kInvalidArgs) << args;
        EXPECT_EQ(call->outcome().error().details.find(R"({"errors":[{"pointer":"/)"), 0u)
            << call->outcome().error().details;
    }
    EXPECT_EQ(host->runs, 0);
    expect_told(3);
}

TEST_F(PipelineTest, InvalidArgumentsNameTheirPlace) {
    ready();
    for (const char* args : {R"({"n":"x"})", "[1]", "5", "{\"n\":", "nonsense"}) {
        auto call = front();
        call->args = args;
        call = start(std::move(call));
        EXPECT_EQ(call->code(), ErrorCode::kInvalidArgs) << args;
        EXPECT_FALSE(call->outcome().error().message.empty());
    }
    EXPECT_EQ(host->runs, 0);
    expect_told(5);
}

TEST_F(PipelineTest, ARepeatIsReplayedAndMarkedAndOtherContentIsAConflict) {
    ready();
    EXPECT_FALSE(start("c1")->running->get().replayed);
    host->answers = {text_result("again")};
    auto again = start("c1");
    EXPECT_EQ(again->content(), "done");
    EXPECT_TRUE(again->running->get().replayed);
    auto other = front("c1");
    other->args = R"({"n":1})";
    EXPECT_EQ(start(std::move(other))->code(), ErrorCode::kConflict);
    EXPECT_EQ(host->runs, 1);
    expect_told(3);
    EXPECT_EQ(*records()[1].find("replayed")->as_bool(), true);
    EXPECT_EQ(records()[0].find("replayed"), nullptr);
}

TEST_F(PipelineTest, AnIdempotencyKeyCountsBeforeTheCallId) {
    ready();
    const auto keyed = [&](std::string id) {
        auto call = front(std::move(id));
        call->key = "key";
        return start(std::move(call));
    };
    keyed("c1");
    EXPECT_TRUE(keyed("c2")->running->get().replayed);
    EXPECT_TRUE(keyed("")->running->get().replayed);
    EXPECT_FALSE(start("c1")->running->get().replayed);
}

TEST_F(PipelineTest, CallsWithoutAnIdNeverMeet) {
    ready();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(start()->running->get().replayed);
    EXPECT_EQ(host->runs, 3);
    EXPECT_EQ(ledger.entries(), 0u);
}

TEST_F(PipelineTest, ARepeatJoinsTheRunningCallUnderItsOwnDeadline) {
    host->waits = true;
    ready();
    auto first = start("c1"), patient = start("c1");
    auto hasty = front("c1");
    hasty->call.caller_deadline = loop.in(1s);
    hasty = start(std::move(hasty));
    EXPECT_EQ(host->runs, 1);
    loop.advance(1s + TimerWheel::kTick);
    EXPECT_EQ(hasty->code(), ErrorCode::kTimeout);
    EXPECT_FALSE(first->ended());
    asio::post(loop.io, [&] { host->waiting->wake(); });
    loop.settle();
    EXPECT_EQ(first->content(), "done");
    EXPECT_EQ(patient->content(), "done");
    EXPECT_TRUE(patient->running->get().replayed);
    EXPECT_FALSE(first->running->get().replayed);
    expect_told(3);
}

TEST_F(PipelineTest, WhenTheFirstLeavesNoTraceOneJoinerRunsInItsPlace) {
    host->waits = true;
    set.max_retries = 0;
    ready();
    host->answers = {error_of(ErrorCode::kUnavailable), text_result("second")};
    auto first = start("c1"), second = start("c1"), third = start("c1");
    const auto answer = [&] {
        asio::post(loop.io, [&] { host->waiting->wake(); });
        loop.settle();
    };
    answer();
    EXPECT_EQ(first->code(), ErrorCode::kUnavailable);
    EXPECT_FALSE(second->ended() || third->ended());
    EXPECT_EQ(host->runs, 2);
    answer();
    EXPECT_EQ(second->content(), "second");
    EXPECT_EQ(third->content(), "second");
    EXPECT_EQ(host->runs, 2);
    EXPECT_NE(second->running->get().replayed, third->running->get().replayed);
}

TEST_F(PipelineTest, AFirstCallerThatLeavesATentativeToolLeavesADoubtAndAnIdempotentOneRunsAgain) {
    host->waits = true;
    for (const bool idempotent : {false, true}) {
        spec.idempotent = idempotent;
        ready();
        const std::string id = idempotent ? "i" : "t";
        auto first = start(id), second = start(id);
        const int before = host->runs;
        loop.cancel(*first->running);
        EXPECT_EQ(first->code(), ErrorCode::kCancelled);
        loop.settle();
        if (idempotent) {
            EXPECT_FALSE(second->ended());
            EXPECT_EQ(host->runs, before + 1);
            loop.cancel(*second->running);
        } else {
            EXPECT_EQ(second->code(), ErrorCode::kOutcomeUnknown);
            EXPECT_EQ(host->runs, before);
        }
    }
}

TEST_F(PipelineTest, ARateLimitRefusesWithATimeToComeBack) {
    set.rates = std::make_shared<RateLimits>(
        std::vector<RateRule>{{.principal = {}, .tool = {}, .per_second = 1, .burst = 1}});
    ready();
    EXPECT_EQ(start()->content(), "done");
    auto refused = start("c1");
    EXPECT_EQ(refused->code(), ErrorCode::kRateLimited);
    EXPECT_TRUE(refused->outcome().error().retry_after);
    loop.advance(1s);
    EXPECT_EQ(start("c1")->content(), "done") << "nothing happened, so the id is free";
    expect_told(3);
}

TEST_F(PipelineTest, RepeatsThatWaitCountForTheRatesAndTheirNumberIsBounded) {
    set.rates = std::make_shared<RateLimits>(
        std::vector<RateRule>{{.principal = {}, .tool = {}, .per_second = 1, .burst = 100}});
    host->waits = true;
    ready();
    std::vector<std::unique_ptr<Front>> repeats;
    auto first = start("c1");
    for (int i = 0; i < 70; ++i) repeats.push_back(start("c1"));
    EXPECT_EQ(std::ranges::count_if(repeats, [](const auto& each) { return each->ended(); }), 6)
        << "64 may wait for one call";
    EXPECT_EQ(repeats.back()->code(), ErrorCode::kRateLimited);
    EXPECT_TRUE(repeats.back()->outcome().error().may_retry());
    for (int i = 0; i < 10; ++i) loop.cancel(*repeats[static_cast<std::size_t>(i)]->running);
    loop.settle();
    EXPECT_EQ(ledger.joins(), 54u) << "who was cancelled waits no more";
    for (int i = 0; i < 10; ++i) repeats.push_back(start("c1"));
    EXPECT_EQ(ledger.joins(), 64u);
    auto other = start("c2");
    for (int i = 0; i < 40; ++i) repeats.push_back(start("c2"));
    EXPECT_EQ(ledger.joins(), 64u + 100 - 76) << "the rates let no more in";
    EXPECT_EQ(repeats.back()->code(), ErrorCode::kRateLimited);
    loop.advance(31s);
    EXPECT_EQ(ledger.joins(), 0u);
    EXPECT_EQ(host->runs, 2);
}

TEST_F(PipelineTest, ABodyThatNoRuleSeesIsNoWayRoundAConditionOnArguments) {
    spec.accepts = {"text/plain"};
    PolicyRule denies;
    denies.call_deny = globs({"echo"});
    denies.where = {
        {.pointer = "/n", .equals = "13", .glob = {}, .matches = {}, .min = {}, .max = {}}};
    PolicyRule allows = denies;
    std::swap(allows.call_deny, allows.call_allow);
    for (const PolicyRule& rule : {denies, allows}) {
        set.policy = policy_of({rule});
        ready();
        auto bytes = front();
        bytes->call.body_type = "text/plain";
        bytes->call.body = R"({"n":13})";
        EXPECT_EQ(start(std::move(bytes))->code(), ErrorCode::kForbidden);
    }
    EXPECT_EQ(host->runs, 0);
    auto fits = front();
    fits->args = R"({"n":13})";
    EXPECT_EQ(start(std::move(fits))->content(), "done");
}

TEST_F(PipelineTest, WhatHooksAndHostsThrowIsLogged) {
    use_hook();
    ready();
    host->throws = hook->throws_after = true;
    const auto traced = [this](const char* id) {
        auto call = front(id);
        call->call.context.trace_id = "t1";
        return start(std::move(call))->code();
    };
    testing::internal::CaptureStderr();
    EXPECT_EQ(traced("c1"), ErrorCode::kInternal);
    hook->throws = true;
    EXPECT_EQ(traced("c2"), ErrorCode::kForbidden);
    const std::string log = testing::internal::GetCapturedStderr();
    for (const char* line :
         {"a tool's host failed name=phone__echo call_id=c1 trace_id=t1 reason=inside",
          "a hook failed after a call name=fake call_id=c1 trace_id=t1 reason=inside",
          "a hook failed before a call, which is denied name=fake call_id=c2 trace_id=t1 "
          "reason=inside"}) {
        EXPECT_NE(log.find(line), std::string::npos) << line << " in " << log;
    }
}

TEST_F(PipelineTest, AFullToolRefusesAndLeavesTheIdFree) {
    host->waits = true;
    spec.max_concurrency = 1;
    use_rules();
    auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
    tool->host = host;
    tool->gate = std::make_shared<ToolGate>(1, 1);
    registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    make_pipeline();
    auto running = start(), queued = start(), refused = start("c1");
    EXPECT_EQ(refused->code(), ErrorCode::kRateLimited);
    EXPECT_FALSE(queued->ended());
    asio::post(loop.io, [&] { host->waiting->wake(); });
    loop.settle();
    EXPECT_EQ(running->content(), "done");
    EXPECT_FALSE(queued->ended());
    EXPECT_EQ(host->runs, 2);
    loop.advance(31s);
    EXPECT_EQ(queued->code(), ErrorCode::kTimeout) << "the wait in line counts";
    EXPECT_EQ(tool->gate->running(), 0u);
    expect_told(3);
}

TEST_F(PipelineTest, ACallWithSideEffectsWhoseRecordCannotBeWrittenDoesNotRun) {
    spec.side_effects = true;
    ready();
    store->set_failing(true);
    auto refused = start("c1");
    ASSERT_TRUE(loop.run_until([&] { return refused->ended(); }));
    EXPECT_EQ(refused->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 0);
    store->set_failing(false);
    auto call = start("c1");
    ASSERT_TRUE(loop.run_until([&] { return call->ended(); }));
    EXPECT_EQ(call->content(), "done");
    EXPECT_EQ(store->records().size(), 1u) << "before it ran";
    EXPECT_NE(store->records()[0].find(R"("status":"dispatching")"), std::string::npos);
    expect_told(2);
}

TEST_F(PipelineTest, NothingRunsWhileTheAuditTrailCannotTakeMore) {
    audit = std::make_unique<AuditLog>(
        store, pool, loop.clock,
        AuditLog::Options{.batch_bytes = 1, .max_backlog_bytes = 1, .recent_bytes = 1000});
    ready();
    std::promise<void> go_on;
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    audit->append_call("caller/other",
                       [](std::string& out) { out += R"({"call_id":"x","status":"ok"})"; });
    EXPECT_EQ(start()->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 0);
    go_on.set_value();
    audit->flush_and_wait();
    EXPECT_EQ(start()->content(), "done");
}

TEST_F(PipelineTest, ACancelThatCameBeforeItsCallEndsIt) {
    ready();
    early_cancels.remember("", "caller/ann", "c1", loop.clock.steady_now());
    EXPECT_EQ(start("c1")->code(), ErrorCode::kCancelled);
    EXPECT_EQ(start("c1")->content(), "done");
    expect_told(2);
}

TEST_F(PipelineTest, WhatWasSurelyNotDeliveredIsTriedAgainAtMostAsOftenAsAllowed) {
    ready();
    host->answers = {error_of(ErrorCode::kUnavailable), error_of(ErrorCode::kUnavailable),
                     text_result("third time")};
    EXPECT_EQ(finish(start("c1"))->content(), "third time");
    EXPECT_EQ(host->attempts, (std::vector{1, 2, 3}));
    EXPECT_EQ(records()[0].find("attempts")->as_array()->size(), 3u);
    host->runs = 0;
    host->answers = {error_of(ErrorCode::kUnavailable)};
    EXPECT_EQ(finish(start("c2"))->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 3);
    host->runs = 0;
    auto once = front("c3");
    once->call.policy.max_retries = 0;
    EXPECT_EQ(start(std::move(once))->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 1);
    host->runs = 0;
    auto greedy = front("c4");
    greedy->call.policy.max_retries = 100;
    EXPECT_EQ(finish(start(std::move(greedy)))->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 3) << "the caller may ask for fewer only";
    expect_told(4);
}

TEST_F(PipelineTest, AnUnknownOutcomeIsTriedAgainOnlyWhenTheToolIsIdempotent) {
    ready();
    host->answers = {error_of(ErrorCode::kOutcomeUnknown), text_result("again")};
    EXPECT_EQ(start("c1")->code(), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(host->runs, 1);
    EXPECT_EQ(start("c1")->code(), ErrorCode::kOutcomeUnknown) << "a repeat is told the same";
    EXPECT_EQ(host->runs, 1);
    spec.idempotent = true;
    ready();
    host->answers = {error_of(ErrorCode::kOutcomeUnknown), text_result("again")};
    EXPECT_EQ(finish(start("c2"))->content(), "again");
    EXPECT_EQ(host->runs, 3);
}

TEST_F(PipelineTest, AnUnknownOutcomeIsTriedAgainUnderTheSameKeyUnlessTheHostItselfSaysSo) {
    spec.accepts_idempotency_key = true;
    ready();
    host->answers = {error_of(ErrorCode::kOutcomeUnknown), text_result("again")};
    EXPECT_EQ(finish(start("c1"))->content(), "again");
    host->runs = 0;
    host->answers = {error_of(ErrorCode::kOutcomeUnknown, false), text_result("again")};
    EXPECT_EQ(finish(start("c2"))->code(), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(host->runs, 1);
}

TEST_F(PipelineTest, WhatTookTooLongWasCancelledOrFailedIsNeverTriedAgain) {
    for (const bool idempotent : {false, true}) {
        spec.idempotent = idempotent;
        ready();
        for (const ErrorCode code :
             {ErrorCode::kTimeout, ErrorCode::kCancelled, ErrorCode::kToolFailed,
              ErrorCode::kInternal, ErrorCode::kInvalidArgs, ErrorCode::kOversize}) {
            host->runs = 0;
            host->answers = {error_of(code)};
            EXPECT_EQ(finish(start())->code(), code);
            EXPECT_EQ(host->runs, 1) << token_of(code);
        }
    }
}

TEST_F(PipelineTest, AHostCannotMakeADoubtfulEndRetryable) {
    ready();
    for (const ErrorCode code :
         {ErrorCode::kTimeout, ErrorCode::kCancelled, ErrorCode::kOutcomeUnknown}) {
        host->runs = 0;
        host->answers = {error_of(code, true), text_result("ran twice")};
        const std::string id(token_of(code));
        EXPECT_EQ(finish(start(id))->code(), code);
        EXPECT_EQ(host->runs, 1) << id;
        EXPECT_EQ(start(id)->code(), code) << "a repeat is told the same, not run again";
        EXPECT_EQ(host->runs, 1) << id;
    }
}

TEST_F(PipelineTest, AHostsWordThatNothingHappenedIsTakenAndItsNoToo) {
    ready();
    host->answers = {error_of(ErrorCode::kToolFailed, true), text_result("again")};
    EXPECT_EQ(finish(start())->content(), "again");
    host->runs = 0;
    host->answers = {error_of(ErrorCode::kUnavailable, false), text_result("again")};
    EXPECT_EQ(finish(start())->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(host->runs, 1);
}

TEST_F(PipelineTest, NoAttemptBeginsAfterTheDeadlineAndTheHostsWaitIsHonoured) {
    ready();
    Error busy{.code = ErrorCode::kUnavailable,
               .message = "later",
               .details = {},
               .retryable = {},
               .retry_after = 10s};
    host->answers = {fail(busy), text_result("again")};
    auto hasty = front();
    hasty->call.timeout = 5s;
    EXPECT_EQ(start(std::move(hasty))->code(), ErrorCode::kUnavailable)
        << "it could only come back too late";
    host->answers = {fail(busy), text_result("again")};
    auto patient = start();
    loop.advance(9s);
    EXPECT_FALSE(patient->ended());
    loop.advance(1s + TimerWheel::kTick);
    EXPECT_EQ(patient->content(), "again");
}

TEST_F(PipelineTest, StreamedCallsAreNotTriedAgain) {
    spec.streams = true;
    ready();
    host->answers = {error_of(ErrorCode::kUnavailable), text_result("again")};
    auto call = front();
    call->call.wants_stream = true;
    EXPECT_EQ(start(std::move(call))->code(), ErrorCode::kUnavailable);
}

TEST_F(PipelineTest, ARetryFollowsTheDeviceToItsNewConnection) {
    ready();
    auto newer = std::make_shared<FakeHost>(loop.timers);
    host->on_run = [&] { offer("echo", "phone", newer); };
    host->answers = {error_of(ErrorCode::kUnavailable)};
    EXPECT_EQ(finish(start())->content(), "done");
    EXPECT_EQ(host->runs, 1);
    EXPECT_EQ(newer->runs, 1);
}

TEST_F(PipelineTest, ARetryTakesAPlaceAtTheGateOfTheNewRegistration) {
    spec.max_concurrency = 1;
    use_rules();
    const ToolRef older = offer();
    make_pipeline();
    auto newer_host = std::make_shared<FakeHost>(loop.timers);
    ToolRef newer;
    host->on_run = [&] { newer = offer("echo", "phone", newer_host); };
    host->answers = {error_of(ErrorCode::kUnavailable)};
    newer_host->on_run = [&] {
        EXPECT_EQ(older->gate->running(), 0u);
        EXPECT_EQ(newer->gate->running(), 1u);
    };
    EXPECT_EQ(finish(start())->content(), "done");
    EXPECT_EQ(newer_host->runs, 1);
    EXPECT_EQ(newer->gate->running(), 0u);
}

TEST_F(PipelineTest, ARetryNeverGoesToAnotherDeviceWhoseUseWasNotAuthorized) {
    PolicyRule rule;  // tablets may be called, but not with this argument
    rule.sources = globs({"device/tablet"});
    rule.call_deny = globs({"*"});
    rule.where = {
        {.pointer = "/n", .equals = "7", .glob = {}, .matches = {}, .min = {}, .max = {}}};
    set.policy = policy_of({rule});
    ready();
    auto tablet = std::make_shared<FakeHost>(loop.timers);
    host->on_run = [&] {
        registry.remove_owner(ConnectionId{1});
        offer("echo", "tablet", tablet);
    };
    host->answers = {error_of(ErrorCode::kUnavailable)};
    auto call = front();
    call->args = R"({"n":7})";
    EXPECT_EQ(finish(start(std::move(call)))->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(tablet->runs, 0);
}

TEST_F(PipelineTest, ARetryNeverRunsAToolThatHasSideEffectsNow) {
    ready();
    auto newer = std::make_shared<FakeHost>(loop.timers);
    host->on_run = [&] {
        spec.side_effects = true;
        offer("echo", "phone", newer);
    };
    host->answers = {error_of(ErrorCode::kUnavailable)};
    EXPECT_EQ(finish(start())->code(), ErrorCode::kUnavailable);
    EXPECT_EQ(newer->runs, 0) << "its record was never made durable";
}

TEST_F(PipelineTest, TheDeadlineIsTheEarliestOfTheFour) {
    spec.default_timeout = 10s;
    spec.max_timeout = 20s;
    ready();
    const auto deadline = [&](std::optional<Milliseconds> timeout,
                              std::optional<std::chrono::seconds> caller) {
        auto call = front();
        call->call.timeout = timeout;
        if (caller) call->call.caller_deadline = loop.in(*caller);
        start(std::move(call));
        return host->deadlines.back() - loop.clock.steady_now();
    };
    EXPECT_EQ(deadline({}, {}), 10s);
    EXPECT_EQ(deadline(5s, {}), 5s);
    EXPECT_EQ(deadline(15s, {}), 15s);
    EXPECT_EQ(deadline(60s, {}), 20s);
    EXPECT_EQ(deadline(15s, 3s), 3s);
    EXPECT_EQ(deadline({}, 12s), 10s);
    EXPECT_EQ(deadline(Milliseconds::max(), {}), 20s);
}

TEST_F(PipelineTest, CancellingTheCoroutineEndsTheCallInEveryStage) {
    // While a hook is asked.
    use_hook();
    hook->waits = true;
    ready();
    auto hooked = start();
    loop.cancel(*hooked->running);
    EXPECT_EQ(hooked->code(), ErrorCode::kCancelled);
    EXPECT_EQ(host->runs, 0);
    hook->waits = false;
    // At the host, in the line before it, and joined to it.
    host->waits = true;
    auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
    tool->host = host;
    tool->gate = std::make_shared<ToolGate>(1);
    registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    auto running = start("c1"), joined = start("c1"), queued = start("c2");
    loop.cancel(*joined->running);
    EXPECT_EQ(joined->code(), ErrorCode::kCancelled);
    loop.cancel(*queued->running);
    EXPECT_EQ(queued->code(), ErrorCode::kCancelled);
    EXPECT_FALSE(running->ended());
    loop.cancel(*running->running);
    EXPECT_EQ(running->code(), ErrorCode::kCancelled);
    EXPECT_EQ(tool->gate->running(), 0u);
    // Between two attempts.
    host->waits = false;
    Error busy{.code = ErrorCode::kUnavailable,
               .message = "later",
               .details = {},
               .retryable = {},
               .retry_after = 1s};
    host->answers = {fail(busy), text_result("again")};
    auto pausing = start();
    EXPECT_FALSE(pausing->ended());
    loop.cancel(*pausing->running);
    EXPECT_EQ(pausing->code(), ErrorCode::kCancelled);
    expect_told(5);
    for (const auto& record : records())
        EXPECT_EQ(*record.find("status")->as_string(), "cancelled");
    EXPECT_EQ(hook->told, std::vector(5, Status::kCancelled));
}

TEST_F(PipelineTest, CancellingByIdEndsTheCallInEveryStage) {
    const auto cancel = [&](std::string_view id) {
        const auto found =
            pipeline->running().cancel(id, [](const Principal&, std::string_view) { return true; });
        loop.settle();
        return found;
    };
    use_hook();
    hook->waits = true;
    ready();
    auto hooked = start("h");
    EXPECT_EQ(cancel("h"), 1u);
    EXPECT_EQ(hooked->code(), ErrorCode::kCancelled);
    hook->waits = false;
    host->waits = true;
    auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
    tool->host = host;
    tool->gate = std::make_shared<ToolGate>(1);
    registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    auto running = start("c1"), queued = start("c2");
    EXPECT_EQ(cancel("c2"), 1u);
    EXPECT_EQ(queued->code(), ErrorCode::kCancelled);
    EXPECT_EQ(cancel("c1"), 1u);
    EXPECT_EQ(running->code(), ErrorCode::kCancelled);
    EXPECT_EQ(cancel("c1"), 0u);
    expect_told(3);
}

TEST_F(PipelineTest, ACallThatIsCancelledWhileItsRecordIsWrittenDoesNotRun) {
    spec.side_effects = true;
    ready();
    std::promise<void> go_on;
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    auto call = start("c1");
    EXPECT_FALSE(call->ended());
    loop.cancel(*call->running);
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return call->ended(); }));
    EXPECT_EQ(call->code(), ErrorCode::kCancelled);
    EXPECT_EQ(host->runs, 0);
    auto again = start("c1");
    ASSERT_TRUE(loop.run_until([&] { return again->ended(); }));
    EXPECT_EQ(again->content(), "done") << "nothing happened, so the id is free";
    expect_told(2);
}

TEST_F(PipelineTest, ACancelledCallLeavesItsFrontAbleToGoOn) {
    host->waits = true;
    ready();
    auto call = front();
    bool went_on = false;
    call->call.tool = call->tool;
    auto running = loop.start(
        [](Pipeline& pipeline, Front& front, TimerWheel& timers, bool& went_on) -> Task<bool> {
            co_await pipeline.run(AuthenticatedCall(front.call, front.principal), front.sink);
            Waiter waiter(timers);
            went_on = co_await waiter.wait(kNoDeadline) == WaitEnd::kCancelled;
            co_return true;
        }(*pipeline, *call, loop.timers, went_on));
    loop.cancel(*running);
    EXPECT_FALSE(running->ended()) << "the first cancellation is used up";
    loop.cancel(*running);
    EXPECT_TRUE(went_on);
}

TEST_F(PipelineTest, ATooLargeResultIsOversizeAndIsNotRunAgain) {
    set.max_result_bytes = 10;
    ready();
    host->answers = {text_result(std::string(11, 'x'))};
    EXPECT_EQ(start("c1")->code(), ErrorCode::kOversize);
    EXPECT_EQ(start("c1")->code(), ErrorCode::kOversize);
    EXPECT_EQ(host->runs, 1);
    host->answers = {text_result(std::string(10, 'x'))};
    EXPECT_EQ(start("c2")->content().size(), 10u);
}

TEST_F(PipelineTest, AResultMustFitTheOutputSchema) {
    spec.output_schema = R"({"type":"object","required":["ok"]})";
    ready();
    host->answers = {text_result(R"({"ok":true})")};
    EXPECT_EQ(start()->content(), R"({"ok":true})");
    host->answers = {text_result(R"({"no":1})")};
    auto broken = start();
    EXPECT_EQ(broken->code(), ErrorCode::kInternal);
    EXPECT_TRUE(json::Value::parse(broken->outcome().error().details));
    host->answers = {text_result(R"({"ok":true,"more":{"a":1,"a":2}})")};
    auto twice = start();
    EXPECT_EQ(twice->code(), ErrorCode::kInternal);
    EXPECT_THAT(twice->outcome().error().message,
                testing::HasSubstr("two members of one name (/more/a)"));
    host->answers = {text_result("plain text")};
    EXPECT_EQ(start()->code(), ErrorCode::kInternal);
    spec.output_schema = R"({"type":"string"})";
    ready();
    EXPECT_EQ(start()->content(), "plain text");
}

TEST_F(PipelineTest, AHostThatThrowsIsAnInternalErrorAndTheLoopGoesOn) {
    ready();
    host->throws = true;
    EXPECT_EQ(start()->code(), ErrorCode::kInternal);
    host->throws = false;
    EXPECT_EQ(start()->content(), "done");
    expect_told(2);
}

TEST_F(PipelineTest, WhateverIsThrownStaysInside) {
    use_hook();
    ready();
    host->on_run = [] { throw 7; };
    EXPECT_EQ(start()->code(), ErrorCode::kInternal);
    host->on_run = {};
    EXPECT_EQ(start()->content(), "done");
    expect_told(2);
}

TEST_F(PipelineTest, ACallWhoseHookTookAllItsTimeIsNotSent) {
    use_hook();
    hook->waits = true;
    spec.default_timeout = 1s;
    spec.max_timeout = 2s;  // which is what hooks may take
    ready();
    auto call = start("c1");
    loop.advance(2s + TimerWheel::kTick);
    EXPECT_EQ(call->code(), ErrorCode::kTimeout);
    EXPECT_EQ(host->runs, 0);
    expect_told(1);
}

TEST_F(PipelineTest, ListAndResolveAgreeWithCalls) {
    PolicyRule rule;
    rule.call_deny = globs({"hidden"});
    set.policy = policy_of({rule});
    ready();
    offer("hidden");
    const auto listed = pipeline->list(*principal_of("caller/ann"));
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].name, "echo");
    EXPECT_EQ(pipeline->resolve(*principal_of("caller/ann"), "", "echo").value(), listed[0].tool);
    EXPECT_FALSE(pipeline->resolve(*principal_of("caller/ann"), "", "hidden"));
}

TEST_F(PipelineTest, NewRulesHoldForCallsThatBeginAfterThem) {
    host->waits = true;
    ready();
    auto running = start();
    PolicyRule rule;
    rule.call_deny = globs({"*"});
    set.policy = policy_of({rule});
    use_rules();
    EXPECT_EQ(start()->code(), ErrorCode::kToolNotFound);
    asio::post(loop.io, [&] { host->waiting->wake(); });
    loop.settle();
    EXPECT_EQ(running->content(), "done");
}

TEST_F(PipelineTest, MetricsCountEveryCallOnce) {
    ready();
    start("c1");
    start("c1");
    auto unknown = front();
    unknown->tool = "none";
    start(std::move(unknown));
    const CallMetrics& metrics = pipeline->metrics();
    EXPECT_EQ(metrics
                  .calls[static_cast<std::size_t>(SourceKind::kDevice)]
                        [static_cast<std::size_t>(Status::kOk)]
                  .value(),
              2u);
    EXPECT_EQ(metrics.replays.value(), 1u);
    EXPECT_EQ(metrics.refused.value(), 1u);
}

}  // namespace
}  // namespace crab::core
