#include "adapters/clawseed/session_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::clawseed {
namespace {

using testing::ElementsAre;

core::ChatSession session(const char* id, const char* name, const char* persona, int used_at) {
    return {.id = ChatSessionId(id),
            .owner = "local/1",
            .name = name,
            .persona = persona,
            .created_at = {},
            .last_activity = SystemTime(std::chrono::seconds(used_at))};
}

std::vector<core::ChatSession> some() {
    return {session("d", "Warm kitchen", "butler", 40), session("b", "Night", "cook", 30),
            session("c", "Kitchen", "cook", 30), session("a", "", "", 20)};
}

std::vector<std::string> ids(const SessionPage& page) {
    std::vector<std::string> found;
    for (const auto& each : page.sessions) found.emplace_back(each.id.text());
    return found;
}

TEST(SessionList, WordsOfTheNameAndTheAgentChoose) {
    const auto listed = [](std::string_view query) {
        return ids(page_of(some(), SessionsWanted::read(query).value()));
    };
    EXPECT_THAT(listed(""), ElementsAre("d", "b", "c", "a"));
    EXPECT_THAT(listed("q=KITCHEN"), ElementsAre("d", "c"));
    EXPECT_THAT(listed("q=kitchen+warm"), ElementsAre("d"));
    EXPECT_THAT(listed("agent=cook"), ElementsAre("b", "c"));
    EXPECT_THAT(listed("agent=*o*&q=kit"), ElementsAre("c"));
}

TEST(SessionList, PagesMeetWithoutAGapWhereTimesAreEqualToo) {
    std::vector<std::string> all;
    std::string cursor;
    do {
        const auto wanted = SessionsWanted::read("limit=1&cursor=" + cursor).value();
        const SessionPage page = page_of(some(), wanted);
        ASSERT_EQ(page.sessions.size(), 1u);
        all.push_back(ids(page)[0]);
        cursor = page.cursor;
    } while (!cursor.empty());
    EXPECT_THAT(all, ElementsAre("d", "b", "c", "a"));
    EXPECT_EQ(page_of(some(), SessionsWanted::read("limit=4").value()).cursor, "");
}

TEST(SessionList, WhatMeansNothingIsRefused) {
    for (const std::string query : {"limit=0", "limit=201", "limit=x", "cursor=x", "cursor=1",
                                    "cursor=1.", "cursor=x.a", "cursor=1.a%20b"})
        EXPECT_FALSE(SessionsWanted::read(query)) << query;
    EXPECT_FALSE(SessionsWanted::read("q=" + std::string(257, 'a')));
}

}  // namespace
}  // namespace crab::clawseed
