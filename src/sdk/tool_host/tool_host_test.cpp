#include "crab/tool_host.hpp"

#include "crab/tool_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <stdexcept>

#include <stdlib.h>

namespace crab {
namespace {

using namespace std::chrono_literals;
using Status = CallResult::Status;

/// Opens once, for all who wait and will wait.
class Gate {
public:
    ~Gate() { open(); }
    void open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

/// A host on a socket of its own, and a client of it.
struct ToolHostTest : testing::Test {
    std::filesystem::path folder = [] {
        char name[] = "/tmp/crab-tool-host-XXXXXX";
        return std::filesystem::path(::mkdtemp(name));
    }();
    std::filesystem::path socket = folder / "host.sock";
    std::unique_ptr<ToolHost> host = std::make_unique<ToolHost>("test");
    std::unique_ptr<ToolClient> client;

    ~ToolHostTest() override {
        client.reset();
        host.reset();
        std::filesystem::remove_all(folder);
    }
    void start(const std::filesystem::path& state = {}) {
        const auto started = host->start_unix(socket, state);
        ASSERT_TRUE(started) << started.error().message;
        client = std::make_unique<ToolClient>("unix:" + socket.string());
    }
    std::future<CallResult> begin(std::string tool, CallOptions options = {}) {
        return std::async(std::launch::async,
                          [this, tool = std::move(tool), options = std::move(options)] {
                              return client->call(tool, "{}", options);
                          });
    }
    static HostTool tool(std::string name) {
        return {.name = std::move(name), .description = "A tool of a test"};
    }
    static CallOptions keyed(std::string key, std::chrono::milliseconds timeout = 0ms) {
        return {.timeout = timeout, .idempotency_key = std::move(key)};
    }
};

TEST_F(ToolHostTest, AToolIsListedAndAnswersWithWhatItsHandlerGives) {
    auto read = tool("read");
    read.side_effects = false;
    read.idempotent = true;
    host->add(read, [](const ToolRequest& request) {
        request.log("looked at " + request.text("city").value_or("nothing"));
        return ToolAnswer::json(R"( {"agent":")" + request.context().agent_id + R"(","tenant":")" +
                                request.tenant_id() + "\"}");
    });
    host->add(tool("say"), [](const ToolRequest&) { return "done"; });
    host->add(tool("count"), [](const ToolRequest&) { return ToolAnswer::json("7"); });
    start();
    const auto listed = client->list();
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 3U);
    EXPECT_EQ((*listed)[1].name, "read");
    EXPECT_FALSE((*listed)[1].side_effects);
    const auto answer = client->call("read", R"({"city":"Bonn"})",
                                     {.tenant_id = "harbour", .context = {.agent_id = "gull"}});
    ASSERT_TRUE(answer.ok()) << answer.error.message;
    EXPECT_EQ(answer.result, R"({"agent":"gull","tenant":"harbour"})")
        << "and no operation_id: it changes nothing";
    EXPECT_EQ(answer.logs, std::vector<std::string>{"looked at Bonn"});
    EXPECT_NE(client->call("say").result.find(R"("text":"done")"), std::string::npos);
    EXPECT_NE(client->call("count").result.find(R"("value":7)"), std::string::npos);
}

TEST_F(ToolHostTest, AResultOfAToolWithSideEffectsHasAnOperationIdThatRepeatsShare) {
    host->add(tool("act"), [](const ToolRequest&) { return ToolAnswer::json("{}"); });
    host->add(tool("own"),
              [](const ToolRequest&) { return ToolAnswer::json(R"({"operation_id":"mine"})"); });
    auto strict = tool("strict");
    strict.output_schema =
        R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false})";
    host->add(strict, [](const ToolRequest&) { return ToolAnswer::json(R"({"a":1})"); });
    start();
    const auto first = client->call("act", "{}", keyed("k"));
    EXPECT_TRUE(first.result.starts_with(R"({"operation_id":")")) << first.result;
    EXPECT_FALSE(first.replayed);
    const auto again = client->call("act", "{}", keyed("k"));
    EXPECT_EQ(again.result, first.result);
    EXPECT_EQ(again.duration, first.duration);
    EXPECT_TRUE(again.replayed);
    EXPECT_NE(client->call("act").result, first.result);
    EXPECT_EQ(client->call("own").result, R"({"operation_id":"mine"})");
    EXPECT_EQ(client->call("strict").result, R"({"a":1})") << "its own schema has no room for one";
}

// Row 62: what a handler is told of its deadline; that it is cut there is another test's.
TEST_F(ToolHostTest, TheDeadlineIsTheCallersElseTheDefaultAndNeverBeyondTheMaximum) {
    std::mutex mutex;
    std::chrono::milliseconds given{0};
    auto timed = tool("timed");
    timed.timeout = 20s;
    timed.max_timeout = 40s;
    host->add(timed, [&](const ToolRequest& request) {
        const auto left = request.deadline() - std::chrono::steady_clock::now();
        const std::scoped_lock lock(mutex);
        given = std::chrono::duration_cast<std::chrono::milliseconds>(left);
        return "done";
    });
    start();
    // What passes until the handler looks makes it less, however slow this machine is, never more.
    const auto given_for = [&](std::chrono::milliseconds asked) {
        EXPECT_TRUE(client->call("timed", "{}", {.timeout = asked}).ok());
        const std::scoped_lock lock(mutex);
        return given;
    };
    const auto by_default = given_for(0ms), shorter = given_for(15s), longer = given_for(35s),
               beyond = given_for(100s);
    EXPECT_LE(shorter, 15s);
    EXPECT_LE(by_default, 20s);
    EXPECT_GT(by_default, 15s) << "the caller named none";
    EXPECT_LE(longer, 35s);
    EXPECT_GT(longer, 20s) << "the default bounds nobody who names more";
    EXPECT_LE(beyond, 40s) << "the tool's maximum does";
    EXPECT_GT(beyond, 35s);
}

TEST_F(ToolHostTest, ArgumentsAndResultsAreHeldToTheirSchemas) {
    auto checked = tool("checked");
    checked.input_schema =
        R"({"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]})";
    checked.output_schema = R"({"type":"object","required":["ok"]})";
    host->add(checked, [](const ToolRequest& request) {
        return ToolAnswer::json(request.integer("n") == 1 ? R"({"ok":true})" : "{}");
    });
    start();
    EXPECT_TRUE(client->call("checked", R"({"n":1})").ok());
    const auto wrong = client->call("checked", R"({"n":10})");
    EXPECT_EQ(wrong.error.code, "INVALID_ARGS");
    for (const char* part : {R"("pointer":"/n")", R"("rule":"maximum")"})
        EXPECT_NE(wrong.error.details.find(part), std::string::npos) << wrong.error.details;
    EXPECT_EQ(client->call("checked", R"({"n":2})").error.code, "INTERNAL");
    EXPECT_EQ(client->call("unchecked").error.code, "TOOL_NOT_FOUND");
}

TEST_F(ToolHostTest, WhatAHandlerThrowsIsInternalAndTheHostLives) {
    host->add(tool("broken"), [](const ToolRequest&) -> ToolAnswer {
        throw std::runtime_error("the secret is 7");
    });
    host->add(tool("odd"), [](const ToolRequest&) -> ToolAnswer { throw 7; });
    host->add(tool("no"),
              [](const ToolRequest&) { return ToolAnswer::error("FORBIDDEN", "not today"); });
    host->add(tool("own"), [](const ToolRequest&) { return ToolAnswer::error("NO_LUCK", "none"); });
    start();
    for (const char* name : {"broken", "odd"}) {
        const auto answer = client->call(name);
        EXPECT_EQ(answer.error.code, "INTERNAL");
        EXPECT_EQ(answer.error.message.find("secret"), std::string::npos)
            << "what went wrong is the log's business";
    }
    EXPECT_EQ(client->call("no").error.code, "FORBIDDEN");
    EXPECT_EQ(client->call("no").error.message, "not today");
    EXPECT_EQ(client->call("own").error.code, "TOOL_FAILED");
}

TEST_F(ToolHostTest, ADeafHandlerIsCutAtTheDeadlineAndWhatItReturnsServesRepeats) {
    Gate go_on;
    std::atomic<int> runs = 0;
    host->add(tool("deaf"), [&](const ToolRequest&) {
        ++runs;
        go_on.wait();
        return ToolAnswer::json(R"({"late":true})");
    });
    start();
    const auto cut = client->call("deaf", "{}", keyed("k", 50ms));
    EXPECT_EQ(cut.status, Status::kTimeout);
    EXPECT_EQ(cut.error.code, "TIMEOUT");
    EXPECT_GE(cut.duration, 50ms);
    EXPECT_EQ(client->call("deaf", "{}", keyed("k", 20ms)).status, Status::kTimeout)
        << "a repeat waits under its own deadline";
    auto repeat = begin("deaf", keyed("k"));
    go_on.open();
    const auto served = repeat.get();
    ASSERT_TRUE(served.ok()) << served.error.message;
    EXPECT_TRUE(served.replayed);
    EXPECT_NE(served.result.find(R"("late":true)"), std::string::npos);
    EXPECT_EQ(client->call("deaf", "{}", keyed("k")).result, served.result);
    EXPECT_EQ(runs, 1);
}

TEST_F(ToolHostTest, AHandlerThatGoesOnKeepsItsPlace) {
    Gate go_on;
    auto alone = tool("alone");
    alone.max_concurrency = 1;
    host->add(alone, [&](const ToolRequest&) {
        go_on.wait();
        return "ok";
    });
    host->add(tool("other"), [](const ToolRequest&) { return "ok"; });
    start();
    EXPECT_EQ(client->call("alone", "{}", {.timeout = 20ms}).status, Status::kTimeout);
    const auto refused = client->call("alone", "{}", {.timeout = 20ms});
    EXPECT_EQ(refused.status, Status::kRetryableError);
    EXPECT_EQ(refused.error.code, "RATE_LIMITED");
    EXPECT_NE(refused.error.details.find("retry_after_ms"), std::string::npos);
    EXPECT_TRUE(client->call("other").ok());
    auto next = begin("alone");
    go_on.open();
    EXPECT_TRUE(next.get().ok());
}

TEST_F(ToolHostTest, SixtyFourCallsRunAtOnceWhateverTheirToolsAllow) {
    Gate go_on;
    std::atomic<int> running = 0;
    std::promise<void> all_running;
    auto slow = [&](const ToolRequest&) {
        if (++running == 64) all_running.set_value();
        go_on.wait();
        return "ok";
    };
    auto narrow = tool("narrow");
    narrow.max_concurrency = 32;
    host->add(tool("wide"), slow);
    host->add(narrow, slow);
    start();
    std::vector<std::future<CallResult>> calls;
    for (int i = 0; i < 32; ++i) calls.push_back(begin("narrow"));
    for (int i = 0; i < 32; ++i) calls.push_back(begin("wide"));
    all_running.get_future().wait();
    const CallResult beyond = client->call("wide", "{}", {.timeout = 20ms});
    EXPECT_EQ(beyond.error.code, "RATE_LIMITED");
    go_on.open();
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
    EXPECT_EQ(running, 64);
}

TEST_F(ToolHostTest, ACancelledCallEndsAtOnceAndItsHandlerIsTold) {
    std::promise<void> begun, told;
    Gate go_on;
    host->add(tool("slow"), [&](const ToolRequest& request) {
        request.on_cancel([&] { told.set_value(); });
        begun.set_value();
        go_on.wait();
        return request.cancelled() ? ToolAnswer::error("CANCELLED", "as you wish")
                                   : ToolAnswer::text("finished");
    });
    start();
    auto call = begin("slow", {.call_id = "c1"});
    begun.get_future().wait();
    EXPECT_EQ(client->cancel("c1"), CancelStatus::kCancelling);
    EXPECT_EQ(call.get().error.code, "CANCELLED");
    told.get_future().wait();
    auto repeat = begin("slow", {.call_id = "c1"});
    go_on.open();
    EXPECT_EQ(repeat.get().error.code, "OUTCOME_UNKNOWN")
        << "it is not idempotent, and nobody says what it did";
}

TEST_F(ToolHostTest, AKeyRunsOnceOtherContentIsAConflictAndBothSurviveARestart) {
    std::atomic<int> runs = 0;
    const auto count = [&](const ToolRequest&) {
        return ToolAnswer::json("{\"run\":" + std::to_string(++runs) + "}");
    };
    host->add(tool("act"), count);
    start(folder / "state");
    const auto first = client->call("act", R"({"n":1})", keyed("k"));
    EXPECT_EQ(client->call("act", R"({"n":2})", keyed("k")).error.code, "CONFLICT");
    client.reset();
    host = std::make_unique<ToolHost>("test");
    host->add(tool("act"), count);
    start(folder / "state");
    const auto again = client->call("act", R"({"n":1})", keyed("k"));
    EXPECT_EQ(again.result, first.result);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(client->call("act", R"({"n":2})", keyed("k")).error.code, "CONFLICT");
    EXPECT_EQ(runs, 1);
}

TEST_F(ToolHostTest, StoppingTellsHandlersAndWaitsForThem) {
    std::promise<void> begun;
    std::atomic<bool> returned = false;
    host->add(tool("slow"), [&](const ToolRequest& request) {
        std::promise<void> cancelled;
        request.on_cancel([&] { cancelled.set_value(); });
        begun.set_value();
        cancelled.get_future().wait();
        returned = true;
        return "ok";
    });
    start();
    auto call = begin("slow", {.timeout = 100ms});
    begun.get_future().wait();
    EXPECT_EQ(call.get().status, Status::kTimeout);
    host->stop();
    EXPECT_TRUE(returned);
}

TEST_F(ToolHostTest, WhatCannotBeAToolOrAListenerIsRefusedByName) {
    const ToolHandler answer = [](const ToolRequest&) { return "ok"; };
    const auto refuses = [&](HostTool wrong) {
        EXPECT_THROW(host->add(std::move(wrong), answer), std::invalid_argument);
    };
    refuses(tool("two words"));
    refuses({.name = "nameless", .description = ""});
    refuses({.name = "bad", .description = "x", .input_schema = "{"});
    refuses({.name = "long", .description = "x", .max_timeout = 121s});
    EXPECT_THROW(host->add(tool("none"), nullptr), std::invalid_argument);
    host->add(tool("once"), answer);
    refuses(tool("once"));
    for (const PairedListener& wrong :
         {PairedListener{.listen = "nowhere"}, PairedListener{.gateway_key = "x"},
          PairedListener{.gateway_key = std::string(43, 'A') + "=", .state_dir = {}},
          PairedListener{
              .gateway_key = std::string(43, 'A') + "=", .id = "-", .state_dir = folder}}) {
        const auto started = host->start(wrong);
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().code, "INVALID_ARGS");
    }
    EXPECT_TRUE(host->start({.listen = "127.0.0.1:0",
                             .gateway_key = std::string(43, 'A') + "=",
                             .state_dir = folder / "state"}));
    EXPECT_TRUE(host->address().starts_with("127.0.0.1:"));
}

}  // namespace
}  // namespace crab
