// The webhook of docs/protocols/clawseed.md, section 8, over HTTP with a scripted model; what needs
// no model is in tests/conformance.

#include "adapters/clawseed/front.hpp"

#include "adapters/clawseed/test_support.hpp"
#include "core/ledger/test_ledger_store.hpp"
#include "net/http/test_support.hpp"
#include "trust/test_token_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using namespace test;
using net::test::RawClient;
using net::test::ServerThread;
using testing::HasSubstr;
using testing::StartsWith;
using Answer = Result<std::string>;

class Webhook : public testing::Test, public net::HttpService {
protected:
    Task<void> serve(net::HttpExchange& exchange) override {
        const trust::RequestAuthentication authentication(credentials_, false);
        const auto token = trust::bearer_of(exchange.request().find("authorization").value_or(""));
        const auto proven = authentication.authenticate(token, [] { return trust::RequestPeer{}; });
        if (!proven)
            co_return exchange.respond_error(401, "UNAUTHENTICATED", proven.error().message);
        co_await routes_.answer(exchange, proven->principal);
    }

    void SetUp() override {
        server_ = std::make_unique<ServerThread>(clock_, *this);
        server_->thread.run([&] {
            net::EventLoop& loop = server_->thread.loop;
            pipeline_ =
                std::make_unique<core::Pipeline>(core::CallServices{.clock = clock_,
                                                                    .registry = registry_,
                                                                    .rules = rules_,
                                                                    .ledger = *ledger_,
                                                                    .early_cancels = early_cancels_,
                                                                    .audit = audit_},
                                                 loop.executor(), loop.timers(), loop.ids());
            front_ = std::make_unique<Front>(loop, Front::Services{.hub = hub_,
                                                                   .pipeline = *pipeline_,
                                                                   .runner = runner_,
                                                                   .credentials = credentials_,
                                                                   .codes = codes_,
                                                                   .keys = keys_,
                                                                   .pool = pool_,
                                                                   .ledger = *ledger_,
                                                                   .journal = &journal_,
                                                                   .facts = facts_});
            front_->add_routes(routes_);
            gate_ = std::make_unique<Waiter>(loop.timers());
        });
    }
    void TearDown() override {
        std::promise<void> stopped;
        server_->thread.run([&] { hub_.stop_chats([&] { stopped.set_value(); }); });
        stopped.get_future().wait();
        server_->stop();
        server_->thread.run([&] {
            gate_.reset();
            front_.reset();
            pipeline_.reset();
        });
        server_.reset();
    }

    std::string token(const std::string& name) {
        return tokens_->issue({.name = name, .roles = {core::Role::kCaller}})
            .value()
            .token.reveal();
    }
    static std::string request(const std::string& token, const std::string& body,
                               std::string_view headers = {}) {
        return fmt::format(
            "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
            "{}\r\nContent-Length: {}\r\n{}\r\n{}",
            token, body.size(), headers, body);
    }
    std::string post(const std::string& token, const std::string& body,
                     std::string_view headers = {}) {
        RawClient client(server_->endpoint());
        client.send(request(token, body, headers));
        return client.read_response();
    }
    static Value body_of(const std::string& response) {
        return Value::parse(response.substr(response.find("\r\n\r\n") + 4)).value();
    }
    /// A turn that answers when open_gate() is called.
    void will_wait() {
        server_->thread.run([&] {
            runner_.scripts.push_back(
                [this](const core::TurnRequest&, core::TurnEvents&) -> Task<Answer> {
                    if (co_await gate_->wait(kNoDeadline) != WaitEnd::kWoken)
                        co_return fail(ErrorCode::kCancelled, "cancelled");
                    co_return "at last";
                });
        });
    }
    void will_fail(ErrorCode code) {
        server_->thread.run([&] {
            runner_.scripts.push_back(
                [code](const core::TurnRequest&, core::TurnEvents&) -> Task<Answer> {
                    co_return fail(code, "it went wrong; try again");
                });
        });
    }
    void open_gate() {
        server_->thread.run([&] { gate_->wake(); });
    }
    std::size_t turns() {
        return server_->thread.run([&] { return runner_.requests.size(); });
    }
    void wait_for_turns(std::size_t count) {
        server_->run_until([&] { return runner_.requests.size() == count; });
    }

    RealClock clock_;
    core::ChatSessionMemory chats_;
    BlockingPool pool_{1};
    core::Registry registry_;
    Published<core::CallRules> rules_{std::make_shared<const core::CallRules>(
        core::CallRules{.policy = core::Policy::make({}).value(),
                        .hooks = {},
                        .rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{}),
                        .max_retries = 0})};
    core::AuditLog audit_{std::make_shared<core::AuditStoreNone>(), pool_, clock_};
    std::optional<core::Ledger> ledger_{std::in_place, clock_, core::Ledger::Options{}};
    core::LedgerStoreMemory ledger_store_;
    core::LedgerJournal journal_{ledger_store_, pool_, clock_};
    core::EarlyCancels early_cancels_;
    trust::TokenStoreMemory token_store_;
    std::unique_ptr<trust::Tokens> tokens_ =
        std::move(trust::Tokens::load(token_store_, clock_).value());
    trust::PairingCodes codes_{*tokens_, clock_};
    trust::CredentialCache credentials_{*tokens_, clock_};
    trust::DeviceKeys keys_{*tokens_, clock_};
    ScriptedRunner runner_;
    Hub hub_{{.clock = clock_,
              .registry = registry_,
              .rules = rules_,
              .audit = audit_,
              .chats = chats_,
              .store_pool = pool_},
             std::make_shared<const Options>(),
             [this](net::EventLoop&) { return &runner_; }};
    StatusFacts facts_;
    std::unique_ptr<ServerThread> server_;
    std::unique_ptr<core::Pipeline> pipeline_;
    std::unique_ptr<Front> front_;
    net::Routes<core::PrincipalRef> routes_;
    std::unique_ptr<Waiter> gate_;
    const std::string token_ = token("phone");
};

TEST_F(Webhook, Item68_ATurnIsRunAndItsAnswerComesBack) {
    const std::string response =
        post(token_, R"({"message":"warm?"})", "X-Session-Id: kitchen-7\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(
        body_of(response),
        Value::parse(R"({"response":"ok","model":"parrot-1","session_id":"kitchen-7"})").value());
    EXPECT_THAT(post(token_, R"({"message":"and now?"})", "X-Session-Id: kitchen-7\r\n"),
                StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(turns(), 2u);
    EXPECT_THAT(text_of(body_of(post(token_, R"({"message":"?"})")), "session_id"),
                testing::SizeIs(36));
}

TEST_F(Webhook, Item68_TheSameKeyRunsOneTurn) {
    const std::string key = "X-Idempotency-Key: k1\r\n";
    const Value first = body_of(post(token_, R"({"message":"warm?"})", key));
    Value again = body_of(post(token_, R"({"message":"warm?"})", key));
    EXPECT_EQ(*again.find("replayed"), Value(true));
    again.erase("replayed");
    EXPECT_EQ(again, first);
    EXPECT_EQ(turns(), 1u);
    const std::string other = post(token_, R"({"message":"cold?"})", key);
    EXPECT_THAT(other, StartsWith("HTTP/1.1 409"));
    EXPECT_EQ(text_of(body_of(other), "code"), "CONFLICT");
    EXPECT_THAT(post(token("tablet"), R"({"message":"cold?"})", key), StartsWith("HTTP/1.1 200"))
        << "keys are each principal's own";
}

TEST_F(Webhook, Item68_ARepeatWhileTheFirstRunsJoinsIt) {
    const std::string key = "X-Idempotency-Key: k1\r\n";
    will_wait();
    RawClient first(server_->endpoint()), second(server_->endpoint());
    first.send(request(token_, R"({"message":"warm?"})", key));
    wait_for_turns(1);
    second.send(request(token_, R"({"message":"warm?"})", key));
    server_->run_until([&] { return journal_.changes() == 1; });
    open_gate();
    EXPECT_EQ(text_of(body_of(first.read_response()), "response"), "at last");
    const Value joined = body_of(second.read_response());
    EXPECT_EQ(text_of(joined, "response"), "at last");
    EXPECT_EQ(*joined.find("replayed"), Value(true));
    EXPECT_EQ(turns(), 1u);
}

TEST_F(Webhook, Item68_ACallerThatLeavesAndRepeatsGetsTheAnswerOfTheOneTurn) {
    const std::string key = "X-Idempotency-Key: k1\r\n";
    will_wait();
    {
        RawClient caller(server_->endpoint());
        caller.send(request(token_, R"({"message":"warm?"})", key));
        wait_for_turns(1);
        caller.reset();
    }
    RawClient again(server_->endpoint());
    again.send(request(token_, R"({"message":"warm?"})", key));
    open_gate();
    EXPECT_EQ(text_of(body_of(again.read_response()), "response"), "at last");
    EXPECT_EQ(turns(), 1u);
}

TEST_F(Webhook, Item68_AfterARestartTheAnswerIsReplayedOrUnknown) {
    const Value first =
        body_of(post(token_, R"({"message":"warm?"})", "X-Idempotency-Key: k1\r\n"));
    ledger_store_.refuse(core::LedgerStoreMemory::Refuse::kEnds);
    post(token_, R"({"message":"cold?"})", "X-Idempotency-Key: k2\r\n");
    ledger_store_.refuse(core::LedgerStoreMemory::Refuse::kNothing);
    server_->thread.run([&] { ledger_.emplace(clock_, core::Ledger::Options{}); });
    Value again = body_of(post(token_, R"({"message":"warm?"})", "X-Idempotency-Key: k1\r\n"));
    EXPECT_TRUE(again.erase("replayed"));
    EXPECT_EQ(again, first);
    for (int i = 0; i < 2; ++i) {
        const std::string unknown =
            post(token_, R"({"message":"cold?"})", "X-Idempotency-Key: k2\r\n");
        EXPECT_THAT(unknown, StartsWith("HTTP/1.1 409"));
        EXPECT_EQ(text_of(body_of(unknown), "code"), "OUTCOME_UNKNOWN");
    }
    EXPECT_THAT(post(token_, R"({"message":"warm now?"})", "X-Idempotency-Key: k1\r\n"),
                HasSubstr("CONFLICT"));
    EXPECT_EQ(turns(), 2u);
}

TEST_F(Webhook, Item68_NothingRunsThatCannotBeRecorded) {
    ledger_store_.refuse(core::LedgerStoreMemory::Refuse::kAll);
    EXPECT_THAT(post(token_, R"({"message":"?"})", "X-Idempotency-Key: k1\r\n"),
                StartsWith("HTTP/1.1 503"));
    EXPECT_EQ(turns(), 0u);
    EXPECT_THAT(post(token_, R"({"message":"?"})"), StartsWith("HTTP/1.1 200"))
        << "nobody will repeat this";
    EXPECT_THAT(post(token_, R"({"message":"?"})",
                     fmt::format("X-Idempotency-Key: {}\r\n", std::string(257, 'k'))),
                StartsWith("HTTP/1.1 400"));
}

TEST_F(Webhook, Item68_AFailedTurnMayBeRepeatedUnlessItCalledTools) {
    server_->thread.run([&] {
        runner_.scripts.push_back(
            [](const core::TurnRequest&, core::TurnEvents& events) -> Task<Answer> {
                events.on_tool_call("1", "lamp", "{}");
                co_return fail(ErrorCode::kInternal, "the model broke off");
            });
    });
    const std::string tools = "X-Idempotency-Key: k1\r\n";
    for (int i = 0; i < 2; ++i)
        EXPECT_THAT(post(token_, R"({"message":"light!"})", tools),
                    HasSubstr("the model broke off"));
    EXPECT_EQ(turns(), 1u);

    will_fail(ErrorCode::kInternal);
    EXPECT_THAT(post(token_, R"({"message":"?"})", "X-Idempotency-Key: k2\r\n"),
                StartsWith("HTTP/1.1 502"));
    EXPECT_THAT(post(token_, R"({"message":"?"})", "X-Idempotency-Key: k2\r\n"),
                StartsWith("HTTP/1.1 200"));
}

TEST_F(Webhook, FailuresHaveAStatusAndACode) {
    const std::vector<std::tuple<ErrorCode, std::string, std::string>> table{
        {ErrorCode::kUnavailable, "503", "PROVIDER_ERROR"},
        {ErrorCode::kUnauthenticated, "502", "AUTH_ERROR"},
        {ErrorCode::kRateLimited, "429", "RATE_LIMITED"},
        {ErrorCode::kForbidden, "403", "FORBIDDEN"},
        {ErrorCode::kInternal, "502", "AGENT_ERROR"}};
    for (const auto& [code, status, word] : table) {
        will_fail(code);
        const std::string response = post(token_, R"({"message":"?"})");
        EXPECT_THAT(response, StartsWith("HTTP/1.1 " + status)) << word;
        EXPECT_EQ(text_of(body_of(response), "code"), word);
    }
    for (const char* body : {"", "{", "[]", "{}", R"({"message":""})", R"({"message":7})"})
        EXPECT_THAT(post(token_, body), StartsWith("HTTP/1.1 400")) << body;
    EXPECT_THAT(post(token_, R"({"message":"?"})", "X-Session-Id: a b\r\n"),
                StartsWith("HTTP/1.1 400"));
    EXPECT_THAT(post("wrong", R"({"message":"?"})"), StartsWith("HTTP/1.1 401"));
}

TEST_F(Webhook, AChatSessionOfSomebodyElseIsRefused) {
    post(token_, R"({"message":"mine"})", "X-Session-Id: mine\r\n");
    const std::string response =
        post(token("tablet"), R"({"message":"?"})", "X-Session-Id: mine\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 403"));
    EXPECT_EQ(text_of(body_of(response), "code"), "SESSION_OWNER_MISMATCH");
}

TEST_F(Webhook, ACallerThatLeavesEndsItsTurnAndTheChatIsForgotten) {
    will_wait();
    {
        RawClient caller(server_->endpoint());
        caller.send(request(token_, R"({"message":"?"})", "X-Session-Id: s1\r\n"));
        wait_for_turns(1);
        caller.reset();
    }
    const auto principal = tokens_->prove(token_).value().principal;
    server_->run_until([&] { return hub_.find_chat(*principal, "s1") == nullptr; });
    EXPECT_THAT(post(token_, R"({"message":"?"})", "X-Session-Id: s1\r\n"),
                StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace crab::clawseed
