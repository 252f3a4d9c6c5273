#include "adapters/mcp/server/call_sink.hpp"

#include "base/test_clock.hpp"
#include "core/call/test_tools.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// What the client of a modern request gets, with a token and log messages.
struct McpCallSink : testing::Test {
    FakeClock clock;
    ClientRequest request{.id = RequestId(1),
                          .method = "tools/call",
                          .params = {},
                          .meta =
                              [] {
                                  RequestMeta meta;
                                  meta.progress_token = RequestId("t");
                                  meta.log_level = "info";
                                  return meta;
                              }(),
                          .principal = core::principal_of("caller/ann"),
                          .session = nullptr,
                          .server_info = {}};
    std::vector<std::string> sent;
    CallSink sink{request,
                  [this](const std::string& message) {
                      sent.push_back(message);
                      return true;
                  },
                  clock};
};

TEST_F(McpCallSink, ProgressAboveTenPerSecondIsDropped) {
    for (int i = 0; i < 100; ++i) sink.on_progress({.progress = i});
    EXPECT_EQ(sent.size(), 10u);
    clock.advance(1s);
    sink.on_progress({.progress = 200});
    EXPECT_THAT(sent.back(), HasSubstr(R"("progress":200)"));
}

TEST_F(McpCallSink, LogAboveFiftyPerSecondIsDropped) {
    for (int i = 0; i < 100; ++i) sink.on_log({.level = "info", .data = "1"});
    EXPECT_EQ(sent.size(), 50u);
    sink.on_log({.level = "debug", .data = "1"});
    clock.advance(1s);
    sink.on_log({.level = "debug", .data = "1"});
    EXPECT_EQ(sent.size(), 50u) << "below what is wanted";
}

TEST_F(McpCallSink, ProgressRises) {
    for (const double value : {1.0, 1.0, 0.5, 2.0, std::numeric_limits<double>::infinity(), -1.0})
        sink.on_progress({.progress = value});
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_THAT(sent[1], HasSubstr(R"("progress":2)"));
    sink.on_progress({.message = "a word"});
    EXPECT_THAT(sent.back(), HasSubstr(R"("progress":3)"));
}

TEST_F(McpCallSink, OlderRevisionsGetNoMessage) {
    request.revision = Revision::k2024_11_05;
    sink.on_progress({.message = "a word", .progress = 1});
    EXPECT_THAT(sent.back(), Not(HasSubstr("a word")));
}

}  // namespace
}  // namespace crab::mcp
