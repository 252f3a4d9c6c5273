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
    ListBudget budget;
    ListPages pages(kToolList, budget);
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
    ListBudget budget;
    ListPages pages(kToolList, budget);
    ASSERT_TRUE(pages.add(R"({"tools":[],"nextCursor":"x"})"));
    ASSERT_TRUE(pages.add(R"({"tools":[],"nextCursor":"y"})"));
    EXPECT_EQ(pages.add(R"({"tools":[],"nextCursor":"x"})").error().message,
              "its tools/list repeats a cursor");
}

TEST(McpListReading, AThousandPagesAreEnough) {
    ListBudget budget;
    ListPages pages(kToolList, budget);
    for (std::size_t i = 0; i < kMostPages; ++i)
        ASSERT_TRUE(pages.add(fmt::format(R"({{"tools":[],"nextCursor":"{}"}})", i)));
    EXPECT_FALSE(pages.add(R"({"tools":[]})"));
}

TEST(McpListReading, WhatIsAboveTheLimitIsCounted) {
    const ListKind kind{"prompts/list", "prompts", 2, 100};
    ListBudget budget;
    ListPages pages(kind, budget);
    ASSERT_TRUE(pages.add(R"({"prompts":[{"name":"a"},{"name":"b"},{"name":"c"},{}]})"));
    const ListReading read = pages.take();
    EXPECT_EQ(read.entries.size(), 2U);
    EXPECT_EQ(read.beyond, 2U);
}

TEST(McpListReading, EntriesAndListsHaveLimitsInBytes) {
    const ListKind kind{"resources/list", "resources", 100, 40};
    ListBudget budget{.left = 60};
    ListPages pages(kind, budget);
    const std::string large = R"({"name":")" + std::string(40, 'x') + R"("})";
    ASSERT_TRUE(pages.add(R"({"resources":[)" + large +
                          R"(,{"name":"xxxxxxxxxxxxxxx"},{"name":"b"}],"nextCursor":"1"})"));
    ListPages other(kind, budget);
    ASSERT_TRUE(other.add(R"({"resources":[{"name":"yyyyyyyyyyyyyyy"},{"name":"d"}]})"));
    const ListReading first = pages.take(), second = other.take();
    EXPECT_EQ(first.entries.size(), 2U);
    EXPECT_EQ(first.beyond, 1U) << "one is too large";
    EXPECT_THAT(second.entries, ElementsAre(R"({"name":"d"})")) << "all lists have one budget";
    EXPECT_EQ(second.beyond, 1U);
}

TEST(McpListReading, ACursorOfMoreThanEightKibibytesIsAnError) {
    ListBudget budget;
    ListPages pages(kToolList, budget);
    EXPECT_EQ(
        pages.add(R"({"tools":[],"nextCursor":")" + std::string(8193, 'x') + "\"}").error().message,
        "its tools/list has a cursor of more than 8 KiB");
}

TEST(McpListReading, WhatAnUpstreamSaysOfItsErrorIsCutAndCleaned) {
    TestLoop loop;
    ListBudget budget;
    test::FakeSession session;
    session.answer(
        "prompts/list",
        RpcError{.code = -1, .message = "a\u202Eb" + std::string(100'000, 'x'), .data = {}});
    const auto read = loop.run(read_list(session, kPromptList, kNoDeadline, budget));
    EXPECT_THAT(read.error().message, testing::HasSubstr(": abxxx"));
    EXPECT_LT(read.error().message.size(), 600U);
}

TEST(McpListReading, APageWithoutItsArrayIsAnError) {
    ListBudget budget;
    ListPages pages(kPromptList, budget);
    EXPECT_EQ(pages.add(R"({"tools":[]})").error().code, ErrorCode::kToolFailed);
}

TEST(McpListReading, AllPagesAreAskedForAndMayBeRepeated) {
    TestLoop loop;
    ListBudget budget;
    test::FakeSession session;
    session.answers["tools/list"] = [](UpstreamRequest& request) -> Task<Result<UpstreamReply>> {
        co_return UpstreamReply(request.params.empty()
                                    ? R"({"tools":[{"name":"a"}],"nextCursor":"2"})"
                                    : R"({"tools":[{"name":"b"}]})");
    };
    const auto read = loop.run(read_list(session, kToolList, loop.in(Milliseconds(100)), budget));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries.size(), 2U);
    ASSERT_EQ(session.requests.size(), 2U);
    EXPECT_EQ(session.requests[1].params, R"({"cursor":"2"})");
    EXPECT_TRUE(session.requests[1].may_repeat);
}

TEST(McpListReading, AServerThatDoesNotKnowTheListHasNoneAndAnotherErrorIsTold) {
    TestLoop loop;
    ListBudget budget;
    test::FakeSession session;
    EXPECT_TRUE(
        loop.run(read_list(session, kPromptList, kNoDeadline, budget)).value().entries.empty());
    session.answer("prompts/list", RpcError{.code = -32603, .message = "boom", .data = {}});
    EXPECT_EQ(loop.run(read_list(session, kPromptList, kNoDeadline, budget)).error().message,
              "its prompts/list was answered with the error -32603: boom");
}

}  // namespace
}  // namespace crab::mcp
