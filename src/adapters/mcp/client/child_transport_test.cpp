#include "adapters/mcp/client/child_transport.hpp"

#include "adapters/mcp/client/test_support.hpp"

#include "base/process/child.hpp"
#include "base/process/file.hpp"
#include "base/process/test_folder.hpp"
#include "base/test_wait.hpp"

#include <csignal>

#include <poll.h>

/// Upstreams that run as children: shell scripts, some of them hostile.
namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

class McpUpstreamChild : public test::ClientTest {
protected:
    static std::string modern(const std::string& cases) {
        return std::string(test::kModernShell) + cases;
    }
    static std::string legacy(const std::string& cases) {
        return std::string(test::kLegacyShell) + cases;
    }
};

TEST_F(McpUpstreamChild, AModernServerIsFoundAndGetsItsMetaInEachRequest) {
    connect(shell(modern(R"(*) say "{\"got\":$line}";;)")));
    EXPECT_EQ(session->found(), (FoundEra{FoundEra::Form::kModern, Revision::k2026_07_28}));
    EXPECT_EQ(session->instructions(), "Be kind.");
    EXPECT_EQ(session->server_info(), R"({"name":"fake"})");
    EXPECT_EQ(session->server_capabilities(), R"({"tools":{}})");
    told.level = "info";
    UpstreamRequest request = call("echo");
    request.meta = R"({"crab/idempotencyKey":"k"})";
    request.traceparent = "00-1-2-01";
    EXPECT_EQ(outcome(request),
              R"({"got":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":)"
              R"({"name":"echo","arguments":{},"_meta":{)"
              R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
              R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},)"
              R"("extensions":{"io.modelcontextprotocol/tasks":{}}},)"
              R"("io.modelcontextprotocol/clientInfo":{"name":"crab","version":"1"},)"
              R"("io.modelcontextprotocol/logLevel":"info","progressToken":2,)"
              R"("traceparent":"00-1-2-01","crab/idempotencyKey":"k"}}}})");
}

TEST_F(McpUpstreamChild, ALegacyServerIsInitializedAfterItsRefusal) {
    connect(shell(legacy(R"(*) say "{\"got\":$line}";;)")));
    EXPECT_EQ(session->found(), (FoundEra{FoundEra::Form::kLegacy, Revision::k2025_11_25}));
    EXPECT_EQ(outcome(call("echo")),
              R"({"got":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":)"
              R"({"name":"echo","arguments":{},"_meta":{"progressToken":3}}}})");
}

TEST_F(McpUpstreamChild, SilenceAndExitAtTheProbeAreLegacy) {
    std::string cases(test::kLegacyShell);
    const std::string answer = R"(fail '{"code":-32601,"message":"unknown"}')";
    UpstreamOptions silent =
        shell(std::string(cases).replace(cases.find(answer), answer.size(), ":"));
    silent.probe_timeout = 100ms;
    const auto first = try_to_connect(std::move(silent));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ((*first)->found().form, FoundEra::Form::kLegacy);
    wait((*first)->close());
    const auto second = try_to_connect(
        shell(std::string(cases).replace(cases.find(answer), answer.size(), "exit 3")));
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ((*second)->found().form, FoundEra::Form::kLegacy);
    wait((*second)->close());
}

TEST_F(McpUpstreamChild, AKnownEraIsNotProbedAndAnswersThatContradictItAre) {
    UpstreamOptions known = shell(R"(*server/discover*) exit 1;;
*'"initialize"'*) say '{"protocolVersion":"2024-11-05","capabilities":{}}';;)");
    known.known = FoundEra{FoundEra::Form::kLegacy, Revision::k2025_11_25};
    const auto first = try_to_connect(std::move(known));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ((*first)->revision(), Revision::k2024_11_05);
    wait((*first)->close());
    UpstreamOptions wrong =
        shell(modern(R"(*'"initialize"'*) fail '{"code":-32601,"message":"unknown"}';;)"));
    wrong.known = FoundEra{FoundEra::Form::kLegacy, Revision::k2025_11_25};
    connect(std::move(wrong));
    EXPECT_EQ(session->era(), Era::kModern);
}

TEST_F(McpUpstreamChild, AVersionThatIsRefusedAndListedIsAskedForOnceMore) {
    connect(shell(
        R"(*'"id":1,'*) fail '{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}';;
*) say '{"resultType":"complete","supportedVersions":["2026-07-28"],"instructions":"second"}';;)"));
    EXPECT_EQ(session->instructions(), "second");
}

TEST_F(McpUpstreamChild, WhatItSaysOfItselfHasALength) {
    connect(shell(R"sh(*server/discover*) long=$(printf '%09000d' 0)
say "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\
\"capabilities\":{\"x\":\"$long\"},\"instructions\":\"$long\",\
\"serverInfo\":{\"name\":\"$long\"}}";;)sh"));
    EXPECT_EQ(session->instructions(), "");
    EXPECT_EQ(session->server_info(), "{}");
    EXPECT_EQ(session->server_capabilities(), "{}");
}

TEST_F(McpUpstreamChild, WhatCannotStartIsToldAndItsLastWordsAreForTheOperatorOnly) {
    UpstreamOptions missing = base_options();
    missing.child = UpstreamChild{.words = {"/no/such/program"}};
    EXPECT_EQ(try_to_connect(std::move(missing)).error().code, ErrorCode::kUnavailable);
    UpstreamOptions broken = base_options();
    broken.child = UpstreamChild{.words = {"/bin/sh", "-c", "echo token=SECRET >&2; exit 1"}};
    broken.last_words = std::make_shared<std::string>();
    const auto last_words = broken.last_words;
    const auto failed = try_to_connect(std::move(broken));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(*last_words, "token=SECRET\n") << "for the operator";
    EXPECT_EQ(failed.error().message.find("SECRET"), std::string::npos)
        << "callers read it: " << failed.error().message;
}

TEST_F(McpUpstreamChild, WordsReachNoShellAndTheEnvironmentIsWhatIsGiven) {
    const TestFolder folder;
    UpstreamOptions options =
        shell(modern(R"(*) say "{\"env\":\"$(env | sort | tr '\n' ' ')\",\"arg\":\"$0\",)"
                     R"(\"pwd\":\"$(pwd)\"}";;)"));
    options.child->words.emplace_back("a; touch /tmp/x $HOME");
    options.child->environment = {"PATH=/usr/bin:/bin", "ONE=1"};
    options.child->folder = folder.path();
    connect(std::move(options));
    const std::string said = outcome(call("env"));
    EXPECT_NE(said.find(R"("arg":"a; touch /tmp/x $HOME")"), std::string::npos) << said;
    EXPECT_NE(said.find("ONE=1"), std::string::npos) << said;
    EXPECT_EQ(said.find("HOME=/"), std::string::npos) << said;
    EXPECT_NE(said.find(folder.path().string()), std::string::npos) << said;
}

TEST_F(McpUpstreamChild, NoiseWrongIdsAndSecondResponsesAreSkipped) {
    UpstreamOptions options =
        shell(modern(R"(*noisy*) echo hello; echo; echo '{"jsonrpc":"1.0"}'; echo '[]';
printf '{"jsonrpc":"2.0","id":999,"result":{"wrong":1}}\n{"jsonrpc":"2.0","id":"%s",)"
                     R"("result":{"wrong":2}}\n' "$id";
printf '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n';
say '{"right":1}'; say '{"wrong":3}'
printf '{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}}\n';;
*) say '{"next":1}';;)"));
    options.dropped = std::make_shared<std::atomic<std::uint64_t>>(0);
    const auto dropped = options.dropped;
    connect(std::move(options));
    EXPECT_EQ(outcome(call("noisy")), R"({"right":1})");
    EXPECT_EQ(outcome(call("after")), R"({"next":1})");
    EXPECT_EQ(*dropped, 5U) << "two wrong ids, none, a second response, and a question";
}

TEST_F(McpUpstreamChild, AHundredLinesOfNoiseOrOneTooLongEndIt) {
    connect(
        shell(modern(R"(*chatty*) i=0; while [ $i -lt 100 ]; do echo noise; i=$((i+1)); done;;)")));
    EXPECT_EQ(outcome(call("chatty")), "error OUTCOME_UNKNOWN");
    EXPECT_EQ(heard.next(), "end the MCP server wrote 100 lines in a row that are no messages");
    wait(session->close());
    loop.run([this] { session.reset(); });
    connect(shell(modern(R"(*) head -c 10000000 /dev/zero | tr '\0' x; echo;;)")));
    EXPECT_EQ(outcome(call("long")), "error OUTCOME_UNKNOWN");
    EXPECT_EQ(heard.next().substr(0, 35), "end the MCP server wrote a line of ");
    EXPECT_FALSE(loop.run([this] { return session->is_open(); }));
}

TEST_F(McpUpstreamChild, AnExitMidCallSettlesItAtOnce) {
    connect(shell(modern(R"(*die*) echo last words >&2; exit 7;;)")));
    EXPECT_EQ(outcome(call("die")), "error OUTCOME_UNKNOWN");
    EXPECT_EQ(heard.next().substr(0, 18), "end the MCP server");
    EXPECT_EQ(outcome(call("again")), "error UNAVAILABLE") << "that was not written";
    EXPECT_EQ(loop.run([this] { return session->error_tail(); }), "last words\n");
}

TEST_F(McpUpstreamChild, AHangingCallEndsAtItsDeadlineAndIsCancelledUpstream) {
    connect(shell(modern(R"(*hang*) ;;
*notifications/cancelled*) seen=$line;;
*) say "{\"seen\":$seen}";;)")));
    UpstreamRequest request = call("hang");
    request.deadline = clock.steady_now() + 100ms;
    EXPECT_EQ(outcome(std::move(request)), "error TIMEOUT");
    EXPECT_EQ(outcome(call("what")),
              R"({"seen":{"jsonrpc":"2.0","method":"notifications/cancelled",)"
              R"("params":{"requestId":2,"reason":"it took too long"}}})");
    CancelSignal signal;
    auto hanging = begin(session->request(call("hang")), &signal);
    EXPECT_NE(outcome(call("what")), "") << "so that the child has the line of the first";
    loop.run([&] { signal.emit(); });
    EXPECT_EQ(hanging.get().error().code, ErrorCode::kCancelled);
    EXPECT_NE(outcome(call("what")).find(R"("requestId":4)"), std::string::npos);
}

TEST_F(McpUpstreamChild, ACallThatIsCancelledBeforeItsLineIsWrittenNeverRuns) {
    connect(shell(modern(R"(*stall*) sleep 1; say '{}';;
*fill*) say '{}';;
*second*) seen=yes; say '{}';;
*) say "{\"seen\":\"$seen\"}";;)")));
    auto stalling = begin(session->request(call("stall")));
    UpstreamRequest large = call("fill");
    large.params = R"({"name":"fill","arguments":{"x":")" + std::string(100'000, 'x') + R"("}})";
    auto filling = begin(session->request(std::move(large)));  // more than a pipe takes
    CancelSignal signal;
    auto queued = begin(session->request(call("second")), &signal);
    loop.run([&] { signal.emit(); });
    EXPECT_EQ(queued.get().error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(stalling.get());
    EXPECT_TRUE(filling.get());
    EXPECT_EQ(outcome(call("what")), R"({"seen":""})");
}

TEST_F(McpUpstreamChild, CallsOfOneIterationAreOneWriteAndAllAreAnswered) {
    connect(shell(modern(R"(*) say "{}";;)")));
    constexpr std::size_t kCalls = 200;  // more than one write takes
    std::vector<std::future<Result<UpstreamReply>>> all;
    loop.run([&] {
        for (std::size_t i = 0; i < kCalls; ++i) all.push_back(begin(session->request(call("x"))));
    });
    for (auto& each : all) {
        const Result<UpstreamReply> reply = each.get();
        ASSERT_TRUE(reply) << reply.error().message;
        EXPECT_EQ(reply->value(), "{}");
    }
}

TEST_F(McpUpstreamChild, WhatDoesNotFitIntoTheQueueSaysNothingAboutTheServer) {
    connect(shell(modern(R"(*stall*) exec sleep 600;;)")));
    const auto with_bytes = [&](std::size_t count) {
        UpstreamRequest made = call("big");
        made.params = R"({"name":"big","arguments":{"x":")" + std::string(count, 'x') + R"("}})";
        return made;
    };
    auto stalling = begin(session->request(call("stall")));
    auto queued = begin(session->request(with_bytes(std::size_t{9} << 20)));
    EXPECT_EQ(outcome(with_bytes(std::size_t{9} << 20)), "error RATE_LIMITED");
    wait(session->close());
    EXPECT_FALSE(queued.get());
    EXPECT_FALSE(stalling.get());
}

TEST_F(McpUpstreamChild, AResultWithTwoMembersOfANameIsRefused) {
    connect(shell(modern(R"(*top*) say '{"isError":false,"content":[],"isError":true}';;
*deep*) say '{"content":[{"type":"text","text":"a","text":"b"}]}';;
*) say '{"content":[]}';;)")));
    EXPECT_EQ(outcome(call("top")), "error TOOL_FAILED");
    EXPECT_EQ(outcome(call("deep")), "error TOOL_FAILED");
    EXPECT_EQ(outcome(call("x")), R"({"content":[]})");
}

TEST_F(McpUpstreamChild, AFloodOfProgressAndLogAndLargeOnesAreCutHere) {
    connect(shell(modern(R"(*call*) i=0; while [ $i -lt 200 ]; do i=$((i+1));
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'$id',)"
                         R"("progress":'$i',"message":"m"}}' )"
                         R"('{"jsonrpc":"2.0","method":"notifications/message",)"
                         R"("params":{"level":"error","data":1}}'; done; say '{}';;)")));
    told.level = "debug";
    EXPECT_EQ(outcome(call("x")), "{}");
    EXPECT_LE(told.all.size(), 360u) << "of 400; of each second 20 and 100";
    told.all.clear();
    wait(session->close());
    loop.run([this] { session.reset(); });
    connect(shell(modern(R"(*call*) x=$(head -c 70000 /dev/zero | tr '\0' x);
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message",)"
                         R"("params":{"level":"error","data":"'$x'"}}'; say '{}';;)")));
    EXPECT_EQ(outcome(call("x")), "{}");
    ASSERT_EQ(told.all.size(), 1u);
    EXPECT_EQ(told.all[0], "log error \"left out by the gateway: more than 64 KiB\"");
}

TEST_F(McpUpstreamChild, ProgressRisesAndLogIsOfTheOnlyCall) {
    connect(shell(modern(R"(*call*) p='{"jsonrpc":"2.0","method":"notifications/progress",)"
                         R"("params":{"progressToken":'$id',"progress":';
printf '%s\n' "$p 1,\"message\":\"one\"}}" "$p 1,\"message\":\"same\"}}" "$p 2,)"
                         R"(\"message\":\"two\"}}";
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error",)"
                         R"("data":{"a":1}}}';
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug",)"
                         R"("data":1}}';
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
say '{}';;)")));
    told.level = "warning";
    EXPECT_EQ(outcome(call("x")), "{}");
    EXPECT_EQ(told.all,
              (std::vector<std::string>{"progress one", "progress two", R"(log error {"a":1})"}));
    EXPECT_EQ(heard.next(), "notifications/tools/list_changed ");
}

TEST_F(McpUpstreamChild, TheGroupGoesAtTheEndThoughNobodyListens) {
    const TestFolder folder;
    const std::string place = folder / "pid";
    connect(shell(modern("*) trap '' TERM; (trap '' TERM; exec sleep 600) & echo $! > " + place +
                         R"(.new; mv )" + place + ".new " + place + R"(; say '{}';;)")));
    EXPECT_EQ(outcome(call("x")), "{}");
    const auto pid = read_file(place);
    ASSERT_TRUE(pid);
    Descriptor process = open_pidfd(static_cast<pid_t>(std::stol(*pid)));
    ASSERT_TRUE(process.is_open());
    wait(session->close());
    loop.run([this] { session.reset(); });
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, net::test::kPatienceMs), 1);
}

/// A supervisor of which nothing comes.
class DeafSupervisor final : public ChildSupervisor {
public:
    void started() override {}
    void terminate() override { ++terminated; }
    void kill() override { ++killed; }
    int not_started() override { return 0; }
    int terminated = 0, killed = 0;
};

/// A child that does nothing it is told, beside a server that answers.
class McpStubbornChild : public McpUpstreamChild, private TransportReader {
protected:
    void begin_child(net::EventLoop& home, Milliseconds grace) {
        const std::string place = folder_ / "pid";
        UpstreamChild child{
            .words = {"/bin/sh", "-c", "echo $$ > $0.new; mv $0.new $0; exec sleep 600", place},
            .environment = {"PATH=/usr/bin:/bin"},
            .folder = {},
            .wrap = [this](ChildProgram program) -> Result<SupervisedProgram> {
                return SupervisedProgram{std::move(program), supervisor};
            }};
        stubborn = std::make_unique<ChildTransport>(
            home, ChildTransport::Options{
                      .source = "stubborn", .child = std::move(child), .grace = grace});
        stubborn->read_for(*this);
    }
    void await_child() {
        ASSERT_TRUE(until([&] { return read_file(folder_ / "pid").has_value(); }));
        pid = static_cast<pid_t>(std::stol(*read_file(folder_ / "pid")));
    }
    bool is_there() const { return ::kill(pid, 0) == 0; }  ///< or was not collected

    std::shared_ptr<DeafSupervisor> supervisor = std::make_shared<DeafSupervisor>();
    std::unique_ptr<ChildTransport> stubborn;
    pid_t pid = 0;

private:
    bool on_message(std::string_view, UpstreamExchange*) override { return true; }
    void on_end(const Error&) override {}
    const TestFolder folder_;
};

TEST_F(McpStubbornChild, HoldsUpNobodyWhenItsTransportGoes) {
    connect(shell(modern("*) say '{}';;")));
    loop.run([&] { begin_child(loop.loop, std::chrono::hours(1)); });
    ASSERT_TRUE(begin(stubborn->start(kNoDeadline)).get());
    await_child();
    EXPECT_TRUE(loop.run([&] {
        stubborn.reset();
        return is_there();
    })) << "it was waited for";
    EXPECT_EQ(supervisor->killed, 1);
    EXPECT_EQ(outcome(call("bystander")), "{}");
    EXPECT_TRUE(is_there());
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(until([&] { return !is_there(); })) << "it is collected";
}

TEST_F(McpStubbornChild, IsKilledInTheEndAndHoldsUpNobodyMeanwhile) {
    connect(shell(modern("*) say '{}';;")));
    loop.run([&] { begin_child(loop.loop, 20ms); });
    ASSERT_TRUE(begin(stubborn->start(kNoDeadline)).get());
    await_child();
    auto closing = begin([](ChildTransport& one) -> Task<bool> {
        co_await one.close();
        co_return true;
    }(*stubborn));
    EXPECT_EQ(outcome(call("bystander")), "{}");
    EXPECT_TRUE(closing.get());
    EXPECT_TRUE(until([&] { return !is_there(); }));
    EXPECT_EQ(supervisor->terminated, 1);
    EXPECT_EQ(supervisor->killed, 1);
    loop.run([&] { stubborn.reset(); });
}

TEST_F(McpStubbornChild, DoesNotOutliveItsLoop) {
    {
        net::test::LoopThread own{clock};
        own.run([&] {
            begin_child(own.loop, 20ms);
            spawn(own.loop.executor(), stubborn->start(kNoDeadline),
                  [](const std::exception_ptr&, auto&&) {});
        });
        await_child();
        own.run([&] { stubborn.reset(); });
    }
    EXPECT_FALSE(is_there());
}

}  // namespace
}  // namespace crab::mcp
