#include "net/http/route_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace crab::net {
namespace {

using Kind = RouteMatch::Kind;

struct RouteTableTest : testing::Test {
    RouteTable table;
    RouteTableTest() {
        add(table, Method::kGet, "/v1/tools");
        add(table, Method::kPost, "/v1/tools/call");
        add(table, Method::kGet, "/sessions/running", true);
        add(table, Method::kPut, "/sessions/{id}");
        add(table, Method::kDelete, "/sessions/{id}");
        add(table, Method::kGet, "/sessions/{id}/pictures/{picture}", true);
        add(table, Method::kGet, "/page/{file...}", true);
        add(table, Method::kPost, "/page/challenge");
    }
    static void add(RouteTable& to, Method method, std::string_view path, bool head = false) {
        to.add({.method = method, .path = path, .summary = "test", .head = head});
    }
    std::string_view found(std::string_view method, std::string_view path) const {
        const RouteMatch match = table.find(method, path);
        return match.found() ? match.route->path : std::string_view();
    }
    Kind kind(std::string_view method, std::string_view path) const {
        return table.find(method, path).kind;
    }
    std::string allowed(std::string_view method, std::string_view path) const {
        const RouteMatch match = table.find(method, path);
        return match.kind == Kind::kOtherMethod ? match.allow : "";
    }
};

TEST_F(RouteTableTest, LiteralPathsMatchByteByByte) {
    EXPECT_EQ(found("GET", "/v1/tools"), "/v1/tools");
    EXPECT_EQ(found("POST", "/v1/tools/call"), "/v1/tools/call");
    for (const std::string_view path :
         {"", "/", "*", "v1/tools", "/v1", "/v1/", "/v1/tools/", "/v1//tools", "//v1/tools",
          "/V1/tools", "/v1/%74ools", "/v1/tools%2Fcall", "/v1/./tools", "/v1/x/../tools",
          "/v1/tools?", "/v1/toolsx", "/v1/tools/calls"})
        EXPECT_EQ(kind("GET", path), Kind::kUnknownPath) << path;
}

TEST_F(RouteTableTest, AnotherMethodIsToldWhatIsAllowed) {
    EXPECT_EQ(allowed("POST", "/v1/tools"), "GET");
    EXPECT_EQ(allowed("HEAD", "/v1/tools"), "GET");
    EXPECT_EQ(allowed("OPTIONS", "/v1/tools/call"), "POST");
    EXPECT_EQ(allowed("get", "/v1/tools"), "GET");
    EXPECT_EQ(allowed("", "/v1/tools"), "GET");
    EXPECT_EQ(allowed("GET", "/sessions/a"), "PUT, DELETE");
    EXPECT_EQ(allowed("POST", "/page/x"), "GET, HEAD");
    EXPECT_EQ(table.find("GET", "/sessions/a").route->method, Method::kPut);
}

TEST_F(RouteTableTest, ALiteralPathIsNoFileOfTheRestBesideIt) {
    EXPECT_EQ(found("POST", "/page/challenge"), "/page/challenge");
    EXPECT_EQ(allowed("GET", "/page/challenge"), "POST");
    EXPECT_EQ(found("GET", "/page/challenges"), "/page/{file...}");
}

TEST_F(RouteTableTest, HeadFollowsGetWhereTheRouteSaysSo) {
    EXPECT_EQ(found("HEAD", "/sessions/running"), "/sessions/running");
    EXPECT_EQ(found("HEAD", "/page/"), "/page/{file...}");
    EXPECT_EQ(found("HEAD", "/sessions/a"), "");
}

TEST_F(RouteTableTest, ALiteralPathGoesBeforeANameAndTheirMethodsAddUp) {
    EXPECT_EQ(found("GET", "/sessions/running"), "/sessions/running");
    const RouteMatch match = table.find("DELETE", "/sessions/running");
    ASSERT_TRUE(match.found());
    EXPECT_EQ(match.arguments["id"], "running");
    EXPECT_EQ(match.allow, "");
    EXPECT_EQ(allowed("POST", "/sessions/running"), "GET, HEAD, PUT, DELETE");
}

TEST_F(RouteTableTest, NamesStandForOneSegmentDecodedOnce) {
    const RouteMatch match = table.find("GET", "/sessions/a%2Fb%252F+c/pictures/%7Ed");
    ASSERT_TRUE(match.found());
    EXPECT_EQ(match.arguments["id"], "a/b%2F+c");
    EXPECT_EQ(match.arguments["picture"], "~d");
    EXPECT_THROW((void)match.arguments["other"], std::logic_error);
    EXPECT_THROW((void)table.find("GET", "/v1/tools").arguments["id"], std::logic_error);
}

TEST_F(RouteTableTest, HostileSegmentsStandForNoName) {
    for (const std::string_view path :
         {"/sessions", "/sessions/", "/sessions//", "/sessions/a/", "/sessions/a/b", "//sessions/a",
          "/sessions/.", "/sessions/..", "/sessions/%2e%2E", "/sessions/%", "/sessions/%2",
          "/sessions/%zz", "/sessions/a%00b", "/sessions/a//pictures/b", "/sessions//pictures/b",
          "/sessions/a/pictures/", "/sessions/a/Pictures/b", "/sessions/a/pictures/b/c"})
        EXPECT_EQ(kind("PUT", path), Kind::kUnknownPath) << path;
}

TEST_F(RouteTableTest, AnArgumentIsBounded) {
    const std::string most(RouteTable::kMaxArgumentBytes, 'a');
    EXPECT_EQ(table.find("PUT", "/sessions/" + most).arguments["id"], most);
    EXPECT_EQ(kind("PUT", "/sessions/" + most + "a"), Kind::kUnknownPath);
    EXPECT_EQ(kind("PUT", "/sessions/" + std::string(1 << 20, 'a')), Kind::kUnknownPath);
    EXPECT_EQ(kind("PUT", "/sessions" + std::string(100'000, '/')), Kind::kUnknownPath);
}

TEST_F(RouteTableTest, TheRestIsWhatCameAndMayBeEmpty) {
    EXPECT_EQ(table.find("GET", "/page/").arguments["file"], "");
    EXPECT_EQ(table.find("GET", "/page/a/../b%2F//").arguments["file"], "a/../b%2F//");
    EXPECT_EQ(kind("GET", "/page"), Kind::kUnknownPath);
    EXPECT_EQ(kind("GET", "/pagex/a"), Kind::kUnknownPath);
}

TEST_F(RouteTableTest, ThePrefixComesBeforeEveryPath) {
    RouteTable below("/lab");
    add(below, Method::kGet, "/v1/tools");
    add(below, Method::kGet, "/{id}");
    EXPECT_TRUE(below.find("GET", "/lab/v1/tools").found());
    EXPECT_EQ(below.find("GET", "/lab/x").arguments["id"], "x");
    for (const std::string_view path :
         {"/v1/tools", "/lab", "/lab/", "/labx", "/lab//v1/tools", "/lab/lab/v1/tools", "/LAB/x"})
        EXPECT_EQ(below.find("GET", path).kind, Kind::kUnknownPath) << path;
}

TEST_F(RouteTableTest, TheOrderOfAddingDecidesBetweenPatterns) {
    RouteTable two;
    add(two, Method::kGet, "/a/{x}/c");
    add(two, Method::kGet, "/a/b/{y}");
    add(two, Method::kPost, "/a/b/{y}");
    EXPECT_EQ(two.find("GET", "/a/b/c").arguments["x"], "b");
    EXPECT_EQ(two.find("POST", "/a/b/c").arguments["y"], "c");
    EXPECT_EQ(two.find("PUT", "/a/b/c").allow, "GET, POST");
}

TEST_F(RouteTableTest, WhatIsNoPathOrIsThereAlreadyIsRefused) {
    for (const std::string_view path :
         {"", "v1", "/v1/", "//", "/a//b", "/{}", "/{...}", "/{a...}/b", "/{a}/{a}", "/a{b}", "/{a",
          "/a%20b", "/a?b", "/{a{b}}"})
        EXPECT_THROW(add(table, Method::kGet, path), std::logic_error) << path;
    EXPECT_THROW(add(table, Method::kGet, "/v1/tools"), std::logic_error);
    EXPECT_THROW(add(table, Method::kPut, "/sessions/{id}"), std::logic_error);
    EXPECT_THROW(add(table, Method::kPost, "/new", true), std::logic_error);
    add(table, Method::kGet, "/");
    EXPECT_EQ(found("GET", "/"), "/");
}

TEST_F(RouteTableTest, LimitsAreTheRoutesOwnOrTheListeners) {
    const RequestBodyLimits listeners{.max_bytes = 10};
    Route route{.path = "/x"};
    EXPECT_EQ(route.limits(listeners).max_bytes, 10u);
    route.body = RequestBodyLimits{.max_bytes = 20};
    EXPECT_EQ(route.limits(listeners).max_bytes, 20u);
    route.body_now = [] { return RequestBodyLimits{.max_bytes = 30}; };
    EXPECT_EQ(route.limits(listeners).max_bytes, 30u);
}

}  // namespace
}  // namespace crab::net
