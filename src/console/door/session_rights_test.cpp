#include "console/door/session_rights.hpp"

#include "base/test_clock.hpp"

#include <array>
#include <tuple>

#include <gtest/gtest.h>

namespace crab::console {
namespace {

class SessionRightsTest : public testing::Test {
protected:
    std::optional<ErrorCode> refused(const ConsoleSession& session, std::string_view method,
                                     std::string_view path, std::string_view body = {}) {
        const auto why = rights.refuse(session, method, path, body, clock.steady_now());
        return why ? std::optional(why->code) : std::nullopt;
    }

    /// As the gateway's routes say it themselves; tests of the gateway look at the real ones.
    static void add_routes(net::RouteTable& routes) {
        using net::FreshProof;
        using net::Method;
        const auto add = [&](Method method, std::string_view path,
                             FreshProof proof = FreshProof::kForChanges) {
            routes.add({.method = method, .path = path, .proof = proof, .summary = "a test's"});
        };
        add(Method::kGet, "/v1/admin/status");
        add(Method::kPost, "/v1/admin/reload");
        add(Method::kPatch, "/v1/peers/{component_type}/{component_id}");
        add(Method::kPut, "/v1/mcp/servers/{name}");
        add(Method::kDelete, "/v1/leases/{lease_id}");
        add(Method::kPost, "/v1/admin/devices/pair", FreshProof::kForOperators);
        add(Method::kPost, "/v1/admin/approvals/{id}", FreshProof::kForLasting);
        add(Method::kPost, "/v1/tools/call", FreshProof::kNever);
    }
    void SetUp() override { add_routes(gateway); }

    FakeClock clock;
    net::RouteTable gateway;
    const SessionRights rights{gateway};
    ConsoleSession caller{.principal = "caller/ann", .roles = {core::Role::kCaller}};
    ConsoleSession owner{.principal = "caller/me", .roles = {core::Role::kOperator}};
};

TEST_F(SessionRightsTest, CallersHaveTheirChatsAndNothingElse) {
    for (const auto& [method, path] : {std::pair{"GET", "/ws/chat"},
                                       {"GET", "/api/sessions"},
                                       {"GET", "/api/agents"},
                                       {"GET", "/api/sessions/running"},
                                       {"PUT", "/api/sessions/a"},
                                       {"DELETE", "/api/sessions/a"},
                                       {"GET", "/api/sessions/a/messages"},
                                       {"POST", "/api/sessions/a/abort"}})
        EXPECT_EQ(refused(caller, method, path), std::nullopt) << method << path;
    for (const auto& [method, path] : {std::pair{"GET", "/v1/admin/status"},
                                       {"POST", "/v1/tools/call"},
                                       {"GET", "/metrics"},
                                       {"GET", "/"},
                                       {"GET", "/v1/events"},
                                       {"GET", "/api/sessions/../../v1/admin/status"},
                                       {"GET", "/api/sessions//messages"},
                                       {"POST", "/api/sessions"},
                                       {"PATCH", "/api/sessions/a"}})
        EXPECT_EQ(refused(caller, method, path), ErrorCode::kForbidden) << method << path;
}

TEST_F(SessionRightsTest, WhatAThiefWouldDoNeedsAKeyThatWasProvenJustNow) {
    const std::array<std::tuple<const char*, const char*, const char*>, 9> heavy{{
        {"POST", "/v1/admin/reload", ""},
        {"PATCH", "/v1/peers/tool_host/a", R"({"status":"active"})"},
        {"DELETE", "/v1/leases/a", ""},
        {"PUT", "/v1/mcp/servers/files", ""},
        {"POST", "/v1/admin/devices/pair", R"({"roles":["operator"]})"},
        {"POST", "/v1/admin/devices/pair", R"({"roles":["op\u0065rator"]})"},
        {"POST", "/v1/admin/devices/pair", R"({"roles":["cli_admin"]})"},
        {"POST", "/v1/admin/approvals/x", R"({"decision":"allow","scope":"always"})"},
        {"POST", "/v1/no/such/route", ""},
    }};
    for (const auto& [method, path, body] : heavy)
        EXPECT_EQ(refused(owner, method, path, body), ErrorCode::kAuthRequired) << path << body;
    owner.proven_at = clock.steady_now();
    clock.advance(SessionRights::kProofLasts - Milliseconds(1));
    for (const auto& [method, path, body] : heavy)
        EXPECT_EQ(refused(owner, method, path, body), std::nullopt) << path << body;
    clock.advance(Milliseconds(1));
    for (const auto& [method, path, body] : heavy)
        EXPECT_EQ(refused(owner, method, path, body), ErrorCode::kAuthRequired) << path << body;
}

TEST_F(SessionRightsTest, ALastingDecisionInAChatNeedsAKeyToo) {
    const auto why = [&](std::string_view frame) {
        return rights.refuse_frame(owner, frame, clock.steady_now()).has_value();
    };
    EXPECT_TRUE(why(R"({"type":"approval_decision","id":"a","scope":"always"})"));
    EXPECT_TRUE(why(R"({"type":"approval\u005fdecision","id":"a","scope":"alw\u0061ys"})"));
    EXPECT_FALSE(why(R"({"type":"approval_decision","id":"a","scope":"session"})"));
    EXPECT_FALSE(
        why(R"({"type":"message","content":"approval_decision always","scope":"always"})"));
    EXPECT_FALSE(why(R"({"type":"message","content":"always\n"})"));
    EXPECT_TRUE(why("approval_decision"));
    owner.proven_at = clock.steady_now();
    EXPECT_FALSE(why(R"({"type":"approval_decision","id":"a","scope":"always"})"));
}

TEST_F(SessionRightsTest, NobodyTellsOfSessionsInThePlaceOfTheBridge) {
    owner.proven_at = clock.steady_now();
    EXPECT_EQ(refused(owner, "POST", "/v1/admin/console/sessions"), ErrorCode::kForbidden);
}

TEST_F(SessionRightsTest, TheRestOfAnOperatorsWorkNeedsNoKey) {
    EXPECT_EQ(refused(owner, "GET", "/v1/admin/status"), std::nullopt);
    EXPECT_EQ(refused(owner, "POST", "/v1/tools/call", "{}"), std::nullopt);
    EXPECT_EQ(refused(owner, "POST", "/v1/admin/devices/pair", R"({"name":"phone"})"),
              std::nullopt);
    EXPECT_EQ(refused(owner, "POST", "/v1/admin/approvals/x", R"({"decision":"allow"})"),
              std::nullopt);
}

}  // namespace
}  // namespace crab::console
