#include "adapters/rtp/hosts/leases_wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(LeasesWireTest, ARequestIsReadWithItsDefaults) {
    const auto plain = parse_lease_request(R"({"tenant_id":"t","agent_id":"a","session_id":"s",)"
                                           R"("capabilities":["events.subscribe:cron.*"]})")
                           .value();
    EXPECT_EQ(plain.tenant_id + plain.agent_id + plain.session_id, "tas");
    EXPECT_EQ(plain.capabilities, std::vector<std::string>{"events.subscribe:cron.*"});
    EXPECT_FALSE(plain.ttl || plain.disconnect_bound);
    const auto full =
        parse_lease_request(
            R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":["x","y"],)"
            R"("ttl_ms":90000,"disconnect_bound":true})")
            .value();
    EXPECT_EQ(full.ttl, 90s);
    EXPECT_TRUE(full.disconnect_bound);
}

TEST(LeasesWireTest, WhatIsWrongIsNamed) {
    const auto problem = [](std::string_view body) {
        const auto request = parse_lease_request(body);
        return request ? "none" : request.error().message;
    };
    EXPECT_THAT(problem("[]"), HasSubstr("object"));
    EXPECT_THAT(problem(R"({"tenant_id":"t","tenant_id":"u"})"), HasSubstr("object"));
    EXPECT_THAT(problem(R"({"agent_id":"a"})"), HasSubstr("/tenant_id"));
    EXPECT_THAT(
        problem(R"({"tenant_id":" \t","agent_id":"a","session_id":"s","capabilities":["x"]})"),
        HasSubstr("/tenant_id"));
    EXPECT_THAT(problem(R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":[]})"),
                HasSubstr("/capabilities"));
    EXPECT_THAT(
        problem(R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":["x",1]})"),
        HasSubstr("/capabilities/1"));
    EXPECT_THAT(
        problem(
            R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":["x"],"ttl_ms":0})"),
        HasSubstr("/ttl_ms"));
    EXPECT_THAT(problem(R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":["x"],)"
                        R"("ttl_ms":1.5})"),
                HasSubstr("/ttl_ms"));
    EXPECT_THAT(
        problem(
            R"({"tenant_id":"t","agent_id":"a","session_id":"s","capabilities":["x"],"ttl":1})"),
        HasSubstr("\"ttl\""));
}

TEST(LeasesWireTest, ALeaseHasTheMembersOfThePage) {
    std::string out;
    json::Writer writer(out);
    const SystemTime at{1'780'000'000s};
    append_lease(writer, {.id = "l",
                          .owner = "subscriber/log",
                          .tenant_id = "t",
                          .agent_id = "a",
                          .session_id = "s",
                          .capabilities = {"x"},
                          .disconnect_bound = true,
                          .ttl = 1h,
                          .issued_at = at,
                          .expires_at = at + 1h,
                          .revoked_at = at + 1s,
                          .revoke_reason = "lost"});
    EXPECT_EQ(out,
              R"({"lease_id":"l","owner_component_type":"subscriber","owner_component_id":"log",)"
              R"("tenant_id":"t","agent_id":"a","session_id":"s","capabilities_json":["x"],)"
              R"("disconnect_bound":true,"issued_at":"2026-05-28T20:26:40.000Z",)"
              R"("expires_at":"2026-05-28T21:26:40.000Z","revoked_at":"2026-05-28T20:26:41.000Z",)"
              R"("revoke_reason":"lost"})");
}

TEST(LeasesWireTest, ARequestNamesALeaseByHeaderElseByQuery) {
    net::HttpRequest request;
    EXPECT_EQ(named_lease(request), "");
    request.head.query = "types=a&lease=l%31";
    EXPECT_EQ(named_lease(request), "l1");
}

}  // namespace
}  // namespace crab::rtp
