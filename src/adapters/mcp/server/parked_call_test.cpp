#include "adapters/mcp/server/parked_call.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include "crypto/digest.hpp"
#include "json/raw_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace crab::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

struct McpParkedCall : test::ServerTest {
    explicit McpParkedCall(Milliseconds patience = std::chrono::minutes(10))
        : ServerTest([&] {
              ServerOptions options = quiet();
              options.input_wait = patience;
              return options;
          }()) {
        offer("ask", host);
        offer("other", host);
    }
    struct Asked {
        std::string tool = "ask", arguments = "{}", state = {}, responses = {}, who = "ann";
        std::size_t part = 0;
    };
    std::string call(const Asked& asked) {
        std::string params =
            fmt::format(R"("name":"{}","arguments":{})", asked.tool, asked.arguments);
        if (!asked.state.empty()) params += fmt::format(R"(,"requestState":"{}")", asked.state);
        if (!asked.responses.empty())
            params += fmt::format(R"(,"inputResponses":{})", asked.responses);
        const std::string fields = fmt::format("{}Authorization: Bearer {}\r\n",
                                               modern_fields("tools/call", asked.tool), asked.who);
        return ask("POST", fields, body_of(params), asked.part).body;
    }
    static std::string body_of(std::string_view params) {
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":"q1","method":"tools/call","params":{{)"
            R"("_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}},)"
            R"({}}}}})",
            params);
    }
    static std::string state_of(const std::string& body) {
        const auto result = json::find_raw(body, "result").value_or("");
        return json::find_raw_string(result, "requestState").value_or("");
    }
    static constexpr const char* kAccept =
        R"({"name":{"action":"accept","content":{"n":"x"}},"extra":{"action":"decline"}})";
    static constexpr const char* kAccepted = R"({\"action\":\"accept\")";
    std::shared_ptr<test::AskingHost> host = std::make_shared<test::AskingHost>();
};

TEST_F(McpParkedCall, AQuestionEndsTheRequestAndItsRetryWithAnswersGoesOn) {
    const std::string body = call({});
    for (const std::string_view part :
         {R"("resultType":"input_required")",
          R"("inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form")",
          R"("io.modelcontextprotocol/serverInfo")"})
        EXPECT_THAT(body, HasSubstr(part));
    const std::string state = state_of(body);
    ASSERT_FALSE(state.empty());
    // on another event loop
    const std::string end = call({.state = state, .responses = kAccept, .part = 1});
    EXPECT_THAT(end, HasSubstr(kAccepted));
    EXPECT_THAT(end, HasSubstr(R"("resultType":"complete")"));
    // a repeat of the answered round gets the same outcome, and nothing runs again
    EXPECT_THAT(call({.state = state, .responses = kAccept}), HasSubstr(kAccepted));
    EXPECT_EQ(host->asked, 1);
    EXPECT_EQ(host->ended, 1);
}

TEST_F(McpParkedCall, ALostReadIsAnErrorOfItsOwnMethod) {
    const auto ann = core::principal_of("caller/ann");
    const std::string owner = fmt::format("{}\n{}\nresources/read\na:b\n{}", ann->id,
                                          ann->tenant.text(), crypto::sha256_hex("{}"));
    const std::string given =
        state.sealer.seal(SealedFor::kRequestState, owner, "gone 1", std::chrono::minutes(1));
    const std::string body =
        modern("resources/read", fmt::format(R"("uri":"a:b","requestState":"{}")", given), "a:b")
            .body;
    EXPECT_THAT(body, HasSubstr(R"("error":{"code":-32603)"));
    EXPECT_THAT(body, HasSubstr(R"("data":{"code":"OUTCOME_UNKNOWN","uri":"a:b"})"));
}

TEST_F(McpParkedCall, WhoHasNotDeclaredItIsNotAsked) {
    EXPECT_THAT(modern("tools/call", R"("name":"ask")", "ask").body, HasSubstr("UNAVAILABLE"));
}

TEST_F(McpParkedCall, AStateThatIsNotOfThisRequestIsRefused) {
    const std::string state = state_of(call({}));
    std::string changed = state;
    changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
    const Asked wrong[] = {{.state = changed, .responses = kAccept},
                           {.state = "mine", .responses = kAccept},
                           {.state = state, .responses = kAccept, .who = "bob"},
                           {.tool = "other", .state = state, .responses = kAccept},
                           {.arguments = R"({"a":1})", .state = state, .responses = kAccept}};
    for (const Asked& each : wrong) EXPECT_THAT(call(each), HasSubstr(R"("code":-32602)"));
    EXPECT_EQ(host->asked, 1);
    EXPECT_EQ(host->ended, 0);
    EXPECT_THAT(call({.arguments = "{ }", .state = state, .responses = kAccept}),
                HasSubstr(kAccepted));
}

TEST_F(McpParkedCall, MissingAndMalformedAnswersAreAskedAgain) {
    std::string state = state_of(call({}));
    for (const std::string_view bad :
         {"{}", R"({"other":{"action":"accept"}})", R"({"name":{"action":"accept","content":{}}})",
          R"({"name":7})"}) {
        const std::string again = call({.state = state, .responses = std::string(bad)});
        EXPECT_THAT(again, HasSubstr(R"("inputRequests":{"name":)"));
        state = state_of(again);
    }
    EXPECT_THAT(call({.state = state, .responses = kAccept}), HasSubstr(kAccepted));
    EXPECT_EQ(host->asked, 1);
    audit.flush_and_wait();
    EXPECT_THAT(records->records().back(), HasSubstr(R"("input_rounds":5,)"));
}

TEST_F(McpParkedCall, TheEleventhRoundFails) {
    host->rounds = 11;
    std::string body = call({});
    for (int i = 0; i < 10; ++i) {
        ASSERT_THAT(body, HasSubstr("input_required")) << i;
        body = call({.state = state_of(body), .responses = kAccept});
    }
    EXPECT_THAT(body, HasSubstr("UNAVAILABLE"));
    EXPECT_EQ(host->asked, 11);
}

TEST_F(McpParkedCall, ClosingBeforeAQuestionCancelsAndAfterItDoesNot) {
    auto client = begin("POST", modern_fields("tools/call", "gate"), body_of(R"("name":"gate")"));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    client->close();
    ASSERT_TRUE(until([&] { return gate->cancelled == 1; }));
    const std::string state = state_of(call({}));
    EXPECT_EQ(host->cancelled, 0);
    EXPECT_THAT(call({.state = state, .responses = kAccept}), HasSubstr(kAccepted));
}

TEST_F(McpParkedCall, ARevokedCredentialCancelsWhatWaits) {
    const std::string state = state_of(call({}));
    ServerTest::state.parked.end_credential("of bob");
    EXPECT_EQ(host->cancelled, 0);
    ServerTest::state.parked.end_credential("of ann");
    EXPECT_TRUE(until([&] { return host->cancelled == 1; }));
}

TEST_F(McpParkedCall, AStoppingGatewayAnswersWithSilence) {
    const std::string state = state_of(call({}));
    ServerTest::state.parked.give_up();
    EXPECT_TRUE(until([&] { return host->ended == 1; }));
    EXPECT_THAT(call({.state = state, .responses = kAccept}),
                HasSubstr(R"({\"action\":\"cancel\"})"));
}

struct McpParkedCallWithoutPatience : McpParkedCall {
    McpParkedCallWithoutPatience() : McpParkedCall(Milliseconds(30)) {}
};

TEST_F(McpParkedCallWithoutPatience, NoRetryInTimeIsACancelAndALateOneIsRefused) {
    const std::string state = state_of(call({}));
    EXPECT_TRUE(until([&] { return host->ended == 1; }));
    EXPECT_TRUE(until(
        [&] { return call({.state = state, .responses = kAccept}).contains(R"("code":-32602)"); }));
    EXPECT_EQ(host->asked, 1);
}

TEST_F(McpParkedCall, WhatIsParkedHasALimitForEachPrincipal) {
    ParkedCalls calls(clock, Milliseconds(1000),
                      {.in_all = 4, .per_principal = 2, .bytes_per_principal = 10'000});
    int keys = 0;
    const auto made = [&](std::string who, std::size_t bytes) {
        return std::make_shared<ParkedCall>(
            ParkedCall::Facts{
                .key = std::to_string(++keys), .principal = std::move(who), .request_bytes = bytes},
            parts[0]->server.thread.loop);
    };
    const auto first = made("ann", 5000), bobs = made("bob", 0);
    EXPECT_TRUE(calls.keep(first));
    EXPECT_TRUE(calls.keep(first)) << "it is kept already";
    EXPECT_FALSE(calls.keep(made("ann", 5001)));
    EXPECT_TRUE(calls.keep(made("ann", 1000)));
    EXPECT_FALSE(calls.keep(made("ann", 0)));
    EXPECT_TRUE(calls.keep(bobs));
    const auto result_of = [](ParkedCall& call) { return call.take().ended->result.size(); };
    bobs->finish({.result = std::string(9000, 'r')}, clock.steady_now());
    EXPECT_EQ(result_of(*bobs), 9000u);
    EXPECT_EQ(result_of(*bobs), 9000u);
    // one that does not fit is for who waits, and for nobody else
    const auto reader = std::make_shared<RemoteWaiter>(parts[0]->server.thread.loop.executor(),
                                                       parts[0]->server.thread.loop.timers());
    first->attach(reader);
    first->finish({.result = std::string(9000, 'r')}, clock.steady_now());
    EXPECT_EQ(result_of(*first), 9000u);
    EXPECT_THAT(first->take().ended->error->message, HasSubstr("too large to be kept"));
}

/// Fails as no host may.
struct ThrowingHost final : core::ToolHost {
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink&) override {
        core::Question question{.kind = core::Question::Kind::kForm,
                                .key = "name",
                                .method = "elicitation/create",
                                .params = test::AskingHost::kForm};
        co_await call.call().inquirer->ask(std::move(question));
        throw std::runtime_error("thrown on purpose");
    }
};

TEST_F(McpParkedCall, OneWhoseHostThrewIsCancelledWithoutHarm) {
    offer("throws", std::make_shared<ThrowingHost>());
    const std::string state_text = state_of(call({.tool = "throws"}));
    const std::string end = call({.tool = "throws", .state = state_text, .responses = kAccept});
    EXPECT_THAT(end, HasSubstr("INTERNAL"));
    state.parked.end_credential("of ann");
    for (const auto& part : parts) part->server.thread.run([] { return 0; });
    EXPECT_THAT(call({.tool = "throws", .state = state_text, .responses = kAccept}),
                HasSubstr("INTERNAL"));
}

}  // namespace
}  // namespace crab::mcp
