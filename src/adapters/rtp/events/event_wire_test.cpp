#include "adapters/rtp/events/event_wire.hpp"

#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace crab::rtp {
namespace {

constexpr EventOrigin kLocal{.peer_id = {}, .fingerprint = {}, .transport = "unix_socket"};

std::string text_of_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

json::Value good() {
    return json::Value::parse(
               R"({"version":"v1","event_id":"e1","trace_id":"t1","tenant_id":"acme",)"
               R"("occurred_at":"2026-02-13T16:00:00.5+01:00",
        "event_type":"channel.message.received","source":{"component_type":"listener",)"
               R"("component_id":"mail","actor_id":"ann"},
        "routing":{"agent_id":"butler","session_id":"s1","isolation_key":"k","policy_tags":["a"],)"
               R"("target":{"platform":"mail","thread_id":"7"}},
        "payload":{"text":"hi","n":1.0},"meta":{"a":[null]},"idempotency_key":"key"})")
        .value();
}

struct EventWireTest : testing::Test {
    json::Parser parser;
    std::shared_ptr<const json::Schema> schema =
        json::Schema::compile(text_of_file(CRAB_SOURCE_DIR "/spec/event_envelope.schema.json"),
                              {.assert_formats = true})
            .value();

    Result<PublishedEvent> read(const json::Value& value, const EventOrigin& origin = kLocal) {
        return parse_envelope(value.dump(), parser, origin);
    }
    bool fits_schema(std::string_view text) {
        json::Parser another;
        return schema->is_valid(another.parse(text)->element());
    }
    /// What the reader says of `good()` with the member at `pointer` replaced.
    std::string refusal(std::string_view parent, std::string_view member, json::Value value) {
        json::Value changed = good();
        const_cast<json::Value*>(changed.resolve(parent))->set(member, std::move(value));
        const auto published = read(changed);
        return published ? "" : published.error().message;
    }
};

TEST_F(EventWireTest, AnEnvelopeIsReadAndWrittenAgainWithTheGatewaysWordInItsSource) {
    const auto published =
        read(good(), {.peer_id = "mail", .fingerprint = "sha256:00", .transport = "mtls_http"});
    ASSERT_TRUE(published) << published.error().message;
    const core::Event& event = published->event.event;
    EXPECT_EQ(event.type, core::EventType::kChannelMessageReceived);
    EXPECT_EQ(event.event_id, "e1");
    EXPECT_EQ(event.tenant, "acme");
    EXPECT_EQ(event.agent_id, "butler");
    EXPECT_EQ(event.session_id, "s1");
    EXPECT_EQ(published->event.idempotency_key, "key");
    EXPECT_EQ(published->component_type, "listener");
    EXPECT_EQ(published->component_id, "mail");
    json::Value expected = good();
    json::Value& source = *expected.find("source");
    source.set("peer_id", "mail");
    source.set("mtls_cert_fingerprint", "sha256:00");
    source.set("transport", "mtls_http");
    EXPECT_EQ(json::Value::parse(event.envelope).value(), expected);
    EXPECT_TRUE(fits_schema(event.envelope));
}

TEST_F(EventWireTest, WhatAPublisherSaysOfItselfInTheGatewaysMembersIsReplaced) {
    json::Value forged = good();
    for (const char* member : {"peer_id", "mtls_cert_fingerprint"})
        forged.find("source")->set(member, "forged");
    forged.find("source")->set("transport", "mtls_ws");
    const auto envelope = json::Value::parse(read(forged)->event.event.envelope).value();
    EXPECT_EQ(envelope.resolve("/source/peer_id"), nullptr);
    EXPECT_EQ(envelope.resolve("/source/mtls_cert_fingerprint"), nullptr);
    EXPECT_EQ(*envelope.resolve("/source/transport"), "unix_socket");
}

TEST_F(EventWireTest, EachRuleIsCheckedAndNamed) {
    const struct {
        const char* parent;
        const char* member;
        json::Value value;
        const char* named;
    } kCases[] = {
        {"", "version", "v2", "/version"},
        {"", "version", nullptr, "/version"},
        {"", "event_id", "", "/event_id"},
        {"", "trace_id", 7, "/trace_id"},
        {"", "tenant_id", " \t", "/tenant_id"},
        {"", "occurred_at", "2026-02-30T00:00:00Z", "/occurred_at"},
        {"", "event_type", "tool.call", "/event_type"},
        {"", "unknown", 1, "/unknown"},
        {"", "source", "me", "/source"},
        {"", "payload", json::Value::array(), "/payload"},
        {"", "meta", nullptr, "/meta"},
        {"", "idempotency_key", std::string(257, 'x'), "/idempotency_key"},
        {"/source", "component_type", "phone", "/source/component_type"},
        {"/source", "component_id", "", "/source/component_id"},
        {"/source", "transport", "carrier pigeon", "/source/transport"},
        {"/source", "actor_id", 1, "/source/actor_id"},
        {"/source", "role", "x", "/source/role"},
        {"/routing", "agent_id", nullptr, "/routing/agent_id"},
        {"/routing", "policy_tags", json::Value::array({json::Value(1)}), "/routing/policy_tags"},
        {"/routing", "target", "x", "/routing/target"},
        {"/routing/target", "to", "x", "/routing/target/to"},
        {"/routing/target", "address", 1, "/routing/target"},
    };
    for (const auto& [parent, member, value, named] : kCases)
        EXPECT_EQ(refusal(parent, member, value).substr(0, std::string_view(named).size()), named)
            << parent << "/" << member;
    for (const char* missing : {"version", "event_id", "trace_id", "tenant_id", "occurred_at",
                                "event_type", "source", "routing", "payload"}) {
        json::Value value = good();
        value.erase(missing);
        EXPECT_EQ(read(value).error().message, "/" + std::string(missing) + ": required");
        EXPECT_FALSE(fits_schema(value.dump()));
    }
    for (const char* text : {"", "[]", "7", "{}", R"({"version":"v1","version":"v1"})", R"({"a":)"})
        EXPECT_EQ(parse_envelope(text, parser, kLocal).error().code, ErrorCode::kInvalidArgs)
            << text;
}

TEST_F(EventWireTest, ARepeatAgreesInContentWhateverItsNamesAndTimes) {
    const core::ContentDigest content = read(good())->event.content;
    const auto with = [&](std::string_view member, json::Value value) {
        json::Value changed = good();
        changed.set(member, std::move(value));
        return read(changed)->event.content;
    };
    EXPECT_EQ(with("event_id", "e2"), content);
    EXPECT_EQ(with("trace_id", "t2"), content);
    EXPECT_EQ(with("occurred_at", "2026-02-13T17:00:00Z"), content);
    EXPECT_EQ(with("payload", json::Value::parse(R"({"n":1,"text":"hi"})").value()), content)
        << "the same, written otherwise";
    EXPECT_NE(with("payload", json::Value::object()), content);
    EXPECT_NE(with("tenant_id", "other"), content);
    EXPECT_NE(with("event_type", "channel.message.edited"), content);
    EXPECT_NE(with("meta", json::Value::object()), content);
}

TEST_F(EventWireTest, TheEndOfACallNamesTheCall) {
    json::Value end = good();
    end.set("event_type", "tool.call.completed");
    EXPECT_EQ(read(end).error().message, "/payload/call_id: required");
    end.find("payload")->set("call_id", "c1");
    EXPECT_EQ(read(end)->event.call_id, "c1");
}

TEST_F(EventWireTest, AnEnvelopeOfTheGatewayFitsTheSchema) {
    core::Event event;
    event.event_id = "e";
    event.type = core::EventType::kToolCallFailed;
    event.tenant = "acme";
    event.agent_id = "a\"";
    event.session_id = "s";
    begin_envelope(event, {.trace_id = "t\xff",
                           .isolation_key = "k",
                           .gateway_id = "home",
                           .occurred_at = SystemTime(std::chrono::seconds(1'780'000'000))});
    std::string& out = event.envelope;
    out += R"({"call_id":"c"}})";
    EXPECT_TRUE(fits_schema(out)) << out;
    EXPECT_TRUE(parse_envelope(out, parser, kLocal)) << out;
}

TEST(EventQueryTest, EveryParameterIsOptional) {
    const EventRequest request = parse_event_query("").value();
    EXPECT_TRUE(request.filter.types.has(core::EventType::kConfigApplied) && request.remember);
    EXPECT_FALSE(request.earliest || request.cursor);
    const EventRequest full = parse_event_query(
                                  "types=cron.*%2Cheartbeat.tick&tenant_id=a+b&agent_id=%C3%BC&"
                                  "session_id=s&subscription=one&cursor=12&lease=l&remember=false")
                                  .value();
    EXPECT_EQ(full.filter.tenant, "a b");
    EXPECT_EQ(full.filter.agent_id, "ü");
    EXPECT_EQ(full.filter.session_id, "s");
    EXPECT_EQ(full.subscription, "one");
    EXPECT_EQ(full.cursor, 12);
    EXPECT_EQ(full.lease, "l");
    EXPECT_EQ(full.types, "cron.*,heartbeat.tick");
    EXPECT_FALSE(full.remember || full.filter.types.has(core::EventType::kConfigApplied));
    EXPECT_TRUE(parse_event_query("cursor=earliest")->earliest);
}

TEST(EventQueryTest, WhatIsUnknownTwiceOrWrongIsRefused) {
    for (const char* query : {"topic=a", "cursor=1&cursor=2", "cursor=-1", "cursor=1x",
                              "cursor=", "cursor=99999999999999999999", "types=a", "remember=no",
                              "tenant_id=%ff", "types=,"}) {
        EXPECT_EQ(parse_event_query(query).error().code, ErrorCode::kInvalidArgs) << query;
    }
}

TEST(EventAckTest, AnAcknowledgementIsACursor) {
    json::Parser parser;
    EXPECT_EQ(parse_ack(R"({"ack":"7"})", parser), 7);
    for (const char* text :
         {R"({"ack":7})", R"({"ack":"-7"})", R"({})", "7", "", R"({"ack":"7x"})"})
        EXPECT_FALSE(parse_ack(text, parser)) << text;
    EXPECT_EQ(parse_ack_request(R"({"cursor":"7","subscription":"s"})", parser)->subscription, "s");
    EXPECT_EQ(parse_ack_request(R"({"cursor":"7"})", parser)->cursor, 7);
    for (const char* text : {R"({"cursor":7})", R"({"subscription":"s"})",
                             R"({"cursor":"7","x":1})", R"({"cursor":"7","cursor":"8"})", "[]"})
        EXPECT_FALSE(parse_ack_request(text, parser)) << text;
    std::string out;
    append_delivery(out,
                    {.position = 7, .at = {}, .event = {.event_id = {}, .envelope = R"({"a":1})"}});
    EXPECT_EQ(out, R"({"cursor":"7","event":{"a":1}})");
}

}  // namespace
}  // namespace crab::rtp
