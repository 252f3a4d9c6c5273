#include "adapters/mcp/upstreams/list_reading.hpp"

#include "adapters/mcp/upstreams/test_support.hpp"
#include "base/task/test_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using testing::ElementsAre;

TEST(McpListReading, AnEmptyCursorGoesOnAndOnlyItsAbsenceEndsTheList) {
    ListPages pages(kToolList);
    EXPECT_EQ(pages.params(), "");
    ASSERT_TRUE(pages.add(R"({"tools":[{"name":"a"}],"nextCursor":""})"));
    EXPECT_FALSE(pages.complete());
    EXPECT_EQ(pages.params(), R"({"cursor":""})");
    ASSERT_TRUE(pages.add(R"({"tools":[{"name":"b"}, 7],"ttlMs":500})"));
    EXPECT_TRUE(pages.complete());
    const ListReading read = pages.take();
    EXPECT_THAT(read.entries, ElementsAre(R"({"name":"a"})", R"({"name":"b"})"));
    EXPECT_EQ(read.ttl, Milliseconds(500));
}

TEST(McpListReading, ARepeatedCursorIsAnError) {
    ListPages pages(kToolList);
    ASSERT_TRUE(pages.add(R"({"tools":[],"nextCursor":"x"})"));
    ASSERT_TRUE(pages.add(R"({"tools":[],"nextCursor":"y"})"));
    EXPECT_EQ(pages.add(R"({"tools":[],"nextCursor":"x"})").error().message,
              "its tools/list repeats a cursor");
}

TEST(McpListReading, AThousandPagesAreEnough) {
    ListPages pages(kToolList);
    for (std::size_t i = 0; i < kMostPages; ++i)
        ASSERT_TRUE(pages.add(fmt::format(R"({{"tools":[],"nextCursor":"{}"}})", i)));
    EXPECT_FALSE(pages.add(R"({"tools":[]})"));
}

TEST(McpListReading, WhatIsAboveTheLimitIsCounted) {
    const ListKind kind{"prompts/list", "prompts", 2};
    ListPages pages(kind);
    ASSERT_TRUE(pages.add(R"({"prompts":[{"name":"a"},{"name":"b"},{"name":"c"},{}]})"));
    const ListReading read = pages.take();
    EXPECT_EQ(read.entries.size(), 2U);
    EXPECT_EQ(read.beyond, 2U);
}

TEST(McpListReading, APageWithoutItsArrayIsAnError) {
    ListPages pages(kPromptList);
    EXPECT_EQ(pages.add(R"({"tools":[]})").error().code, ErrorCode::kToolFailed);
}

TEST(McpListReading, AllPagesAreAskedForAndMayBeRepeated) {
    TestLoop loop;
    test::FakeSession session;
    session.answers["tools/list"] = [](UpstreamRequest& request) -> Task<Result<UpstreamReply>> {
        co_return UpstreamReply(request.params.empty()
                                    ? R"({"tools":[{"name":"a"}],"nextCursor":"2"})"
                                    : R"({"tools":[{"name":"b"}]})");
    };
    const auto read = loop.run(read_list(session, kToolList, loop.in(Milliseconds(100))));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries.size(), 2U);
    ASSERT_EQ(session.requests.size(), 2U);
    EXPECT_EQ(session.requests[1].params, R"({"cursor":"2"})");
    EXPECT_TRUE(session.requests[1].may_repeat);
}

TEST(McpListReading, AServerThatDoesNotKnowTheListHasNoneAndAnotherErrorIsTold) {
    TestLoop loop;
    test::FakeSession session;
    EXPECT_TRUE(loop.run(read_list(session, kPromptList, kNoDeadline)).value().entries.empty());
    session.answer("prompts/list", RpcError{.code = -32603, .message = "boom", .data = {}});
    EXPECT_EQ(loop.run(read_list(session, kPromptList, kNoDeadline)).error().message,
              "its prompts/list was answered with the error -32603: boom");
}

}  // namespace
}  // namespace crab::mcp
