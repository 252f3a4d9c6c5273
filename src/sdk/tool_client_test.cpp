#include "crab/tool_client.hpp"

#include "sdk/test_gateway.hpp"

namespace crab {
namespace {

using namespace std::chrono_literals;
using sdk::test::FakeGateway;

TEST(ToolClient, ListsTools) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    const auto tools = client.list();
    ASSERT_TRUE(tools) << tools.error().message;
    ASSERT_EQ(tools->size(), 1u);
    EXPECT_EQ(tools->front().name, "kitchen__lamp");
    EXPECT_EQ(tools->front().timeout, 500ms);
    EXPECT_EQ(tools->front().input_schema, R"({"type":"object"})");
    EXPECT_TRUE(tools->front().idempotent);
}

TEST(ToolClient, SendsEveryRequiredMemberAndReadsTheResult) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    const CallResult result = client.call("echo", R"({"limit": 5})",
                                          {.timeout = 700ms,
                                           .idempotency_key = "k1",
                                           .call_id = "c1",
                                           .context = {.trace_id = "tr"}});
    ASSERT_TRUE(result.ok()) << result.error.message;
    EXPECT_EQ(*json::Value::parse(result.result),
              *json::Value::parse(
                  R"({"version":"v1","call_id":"c1","tool_name":"echo","tenant_id":"default",)"
                  R"("args":{"limit":5},"timeout_ms":700,
                                      "idempotency_key":"k1","context":{"agent_id":"sdk",)"
                  R"("session_id":"sdk","trace_id":"tr"}})"));
    EXPECT_EQ(result.call_id, "c1");
    EXPECT_EQ(result.duration, 12ms);
    EXPECT_EQ(result.logs, std::vector<std::string>{"one"});
    EXPECT_TRUE(result.replayed);
    EXPECT_EQ(client.call("echo").call_id.size(), 36u);
}

TEST(ToolClient, TellsWhatWentWrong) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    const CallResult failed = client.call("fail");
    EXPECT_EQ(failed.status, CallResult::Status::kError);
    EXPECT_EQ(failed.error.code, "INVALID_ARGS");
    EXPECT_EQ(failed.error.message, "/limit: at most 100");
    EXPECT_EQ(failed.error.details, R"({"errors":[]})");
    EXPECT_EQ(client.call("garbage").error.code, "INTERNAL");
    EXPECT_EQ(client.call("echo", "[1]").error.code, "INVALID_ARGS");
    ToolClient stranger(gateway.url("http"), "t2");
    EXPECT_EQ(stranger.call("echo").status, CallResult::Status::kNoAnswer);
    EXPECT_EQ(stranger.call("echo").error.code, "UNAUTHENTICATED");
    EXPECT_EQ(stranger.list().error().message, "a token is needed");
    EXPECT_THROW(ToolClient("kitchen"), std::invalid_argument);
}

TEST(ToolClient, SendsNoTokenUnencryptedToAnotherMachineUnlessThatIsAllowed) {
    for (const char* gateway : {"http://192.0.2.1:1", "ws://10.0.0.1", "http://kitchen.invalid",
                                "grpc://192.168.1.1", "grpc://kitchen.invalid:50063"}) {
        EXPECT_THROW(ToolClient(gateway, "t1"), std::invalid_argument) << gateway;
        EXPECT_NO_THROW(ToolClient(gateway, "t1", {.allow_plain = true})) << gateway;
    }
    for (const char* gateway : {"https://kitchen.invalid", "grpcs://kitchen.invalid",
                                "http://LOCALHOST:1", "http://[::1]:1", "grpc://127.0.0.1"})
        EXPECT_NO_THROW(ToolClient(gateway, "t1")) << gateway;
}

TEST(ToolClient, SaysWhenNobodyIsThere) {
    std::string gone;
    {
        const FakeGateway gateway;
        gone = gateway.url("http");
    }
    ToolClient client(gone, "t1");
    const CallResult result = client.call("echo");
    EXPECT_EQ(result.status, CallResult::Status::kNoAnswer);
    EXPECT_EQ(result.error.code, "UNAVAILABLE");
}

TEST(ToolClient, HandsOutFramesAndProgressAsTheyCome) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    std::vector<ToolFrame> frames;
    std::string told;
    const StreamCallbacks callbacks{
        .on_frame =
            [&](const ToolFrame& frame) {
                frames.push_back(frame);
                return true;
            },
        .on_progress =
            [&](std::string_view message, std::optional<double> progress,
                std::optional<double> total) {
                told = std::string(message) + std::to_string(static_cast<int>(*progress)) + "/" +
                       std::to_string(static_cast<int>(*total));
            }};
    const CallResult result = client.call_stream("echo", "{}", callbacks);
    EXPECT_TRUE(result.ok()) << result.error.message;
    EXPECT_EQ(told, "warming up2/5");
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].data, "hello");
    EXPECT_EQ(frames[1].data, std::string("\0\1\xff", 3));
    EXPECT_TRUE(frames[1].final);
    EXPECT_EQ(client.call_stream("fail", "{}", callbacks).error.code, "INVALID_ARGS");
    ToolClient stranger(gateway.url("http"));
    EXPECT_EQ(stranger.call_stream("echo", "{}", callbacks).error.code, "UNAUTHENTICATED");
}

TEST(ToolClient, StopsReadingWhenTheCallerHasEnough) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    const StreamCallbacks callbacks{.on_frame = [](const ToolFrame&) { return false; }};
    EXPECT_EQ(client.call_stream("echo", "{}", callbacks).error.code, "CANCELLED");
    EXPECT_TRUE(client.call("echo").ok());
}

TEST(ToolClient, Cancels) {
    FakeGateway gateway;
    ToolClient client(gateway.url("http"), "t1");
    const auto status = client.cancel("c1");
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, CancelStatus::kCancelling);
}

TEST(ToolClient, ServesThreadsAtOnceAndKeepsItsConnections) {
    FakeGateway gateway(true);
    ToolClient client(gateway.unix_url(), "t1");
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.call("echo").ok());
    EXPECT_EQ(gateway.connections(), 1u);
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 50; ++n) good += client.call("echo").ok() ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 200);
    EXPECT_LE(gateway.connections(), 4u);
}

}  // namespace
}  // namespace crab
