#include "hosts/memory/page_cursor.hpp"

#include "base/test_clock.hpp"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace crab::memory {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct PageCursorTest : testing::Test {
    MemoryScope scope{.tenant = TenantId("acme"), .agent_id = "ann", .isolation_key = ""};
    MemoryQuery query{.terms = parse_query_terms("red car")};
    SystemTime now = FakeClock().system_now();
    std::string cursor = to_cursor("where\0it ended"s, scope, query, now);

    bool is_refused(const MemoryScope& in, const MemoryQuery& of) {
        const auto read = read_cursor(cursor, in, of, now);
        return !read && read.error().code == ErrorCode::kInvalidArgs;
    }
};

TEST_F(PageCursorTest, ItLeadsBackForAnHour) {
    EXPECT_EQ(read_cursor(cursor, scope, query, now).value(), "where\0it ended"s);
    EXPECT_TRUE(read_cursor(cursor, scope, query, now + 1h));
    EXPECT_FALSE(read_cursor(cursor, scope, query, now + 1h + 1ms));
    EXPECT_FALSE(read_cursor(cursor, scope, query, now - 1ms))
        << "it cannot be from a time to come";
}

TEST_F(PageCursorTest, TheLimitMayChangeBetweenPages) {
    query.limit = 3;
    EXPECT_TRUE(read_cursor(cursor, scope, query, now));
}

TEST_F(PageCursorTest, ItBelongsToItsScope) {
    auto other = scope;
    other.tenant = TenantId("acm");
    EXPECT_TRUE(is_refused(other, query));
    other = scope;
    other.agent_id = "bob";
    EXPECT_TRUE(is_refused(other, query));
    other = scope;
    other.isolation_key = "global";
    EXPECT_TRUE(is_refused(other, query));
}

TEST_F(PageCursorTest, ItBelongsToItsQuery) {
    for (const auto& change : std::vector<std::function<void(MemoryQuery&)>>{
             [](MemoryQuery& q) { q.terms = parse_query_terms("redcar"); },
             [](MemoryQuery& q) { q.terms = parse_query_terms("red -car"); },
             [](MemoryQuery& q) { q.terms = parse_query_terms("red car*"); },
             [](MemoryQuery& q) { q.tags = R"(["a"])"; },
             [&](MemoryQuery& q) { q.since = now; },
             [&](MemoryQuery& q) { q.until = now; },
             [](MemoryQuery& q) { q.order = MemoryOrder::kOldest; },
         }) {
        auto other = query;
        change(other);
        EXPECT_TRUE(is_refused(scope, other));
    }
}

TEST_F(PageCursorTest, WhatIsNoCursorIsRefused) {
    for (const std::string text : {"", "AAAA", "not base64!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA"}) {
        cursor = text;
        EXPECT_TRUE(is_refused(scope, query)) << text;
    }
}

}  // namespace
}  // namespace crab::memory
