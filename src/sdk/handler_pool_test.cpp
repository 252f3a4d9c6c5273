#include "sdk/handler_pool.hpp"

#include "sdk/device_tools.hpp"
#include "sdk/run_handler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>

namespace crab::sdk {
namespace {

TEST(HandlerPool, RunsEightAtOnceQueuesSixtyFourAndRefusesTheNext) {
    std::latch all_running(8);
    std::latch go(1);
    std::atomic<int> done = 0;
    {
        HandlerPool pool(8, 64);
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(pool.submit([&] {
                all_running.count_down();
                go.wait();
                ++done;
            }));
        }
        all_running.wait();
        for (int i = 0; i < 64; ++i) ASSERT_TRUE(pool.submit([&] { ++done; }));
        EXPECT_FALSE(pool.submit([&] { ++done; }));
        go.count_down();
    }
    EXPECT_EQ(done, 72);
}

class RunHandler : public testing::Test {
protected:
    static Handled run(ToolHandler handler) {
        const auto tool = make_device_tool("t", "A tool", "{}", std::move(handler), {});
        return run_handler(tool->handler,
                           std::make_shared<CallState>("c1", "t", "{}", kNoDeadline, nullptr));
    }
};

TEST_F(RunHandler, TurnsAnExceptionIntoInternalAndKeepsItsTextAtHome) {
    const Handled handled =
        run([](const ToolRequest&) -> ToolAnswer { throw std::runtime_error("/home/kim/secret"); });
    EXPECT_EQ(handled.answer.kind(), ToolAnswer::Kind::kError);
    EXPECT_TRUE(handled.answer.content().starts_with("INTERNAL: "));
    EXPECT_EQ(handled.answer.content().find("secret"), std::string::npos);
    EXPECT_NE(handled.complaint.find("secret"), std::string::npos);
    EXPECT_TRUE(run([](const ToolRequest&) -> ToolAnswer { throw 7; })
                    .answer.content()
                    .starts_with("INTERNAL: "));
}

TEST_F(RunHandler, RefusesJsonThatIsNone) {
    for (const char* json : {"{", "", "{} {}", "nan"}) {
        EXPECT_TRUE(run([&](const ToolRequest&) { return ToolAnswer::json(json); })
                        .answer.content()
                        .starts_with("INTERNAL: "))
            << json;
    }
    EXPECT_EQ(run([](const ToolRequest&) { return ToolAnswer::json("[1]"); }).answer.content(),
              "[1]");
}

TEST(DeviceTools, RefuseWhatNoGatewayWouldTake) {
    const ToolHandler handler = [](const ToolRequest&) { return ToolAnswer("x"); };
    for (const char* name : {"", "with space", "ä", "a/b"}) {
        EXPECT_THROW(make_device_tool(name, "d", "{}", handler, {}), std::invalid_argument) << name;
    }
    EXPECT_THROW(make_device_tool(std::string(129, 'a'), "d", "{}", handler, {}),
                 std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", "", "{}", handler, {}), std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", std::string(9000, 'd'), "{}", handler, {}),
                 std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", "d", "[]", handler, {}), std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", "d", "{", handler, {}), std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", "d", "{}", nullptr, {}), std::invalid_argument);
    EXPECT_THROW(make_device_tool("a", "d", "{}", handler, {.output_schema = "7"}),
                 std::invalid_argument);
}

TEST(DeviceTools, RenderEveryClaim) {
    const auto tool = make_device_tool("a", "d", R"({"type":"object"})",
                                       [](const ToolRequest&) { return ToolAnswer("x"); },
                                       {.read_only = true,
                                        .destructive = false,
                                        .timeout = std::chrono::milliseconds(500),
                                        .max_concurrency = 2,
                                        .output_schema = R"({"type":"string"})"});
    EXPECT_EQ(*json::Value::parse(tool->element),
              *json::Value::parse(R"({"name":"a","description":"d","parameters":{"type":"object"},)"
                                  R"("output_schema":{"type":"string"},
                                      "timeout_ms":500,"max_concurrency":2,)"
                                  R"("annotations":{"read_only":true,"destructive":false}})"));
}

}  // namespace
}  // namespace crab::sdk
