#include "adapters/rtp/events/events_api.hpp"

#include "core/call/test_tools.hpp"
#include "core/events/test_event_store.hpp"
#include "json/value.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// The roles' own rights, as section 8 has them, for the types that these tests use.
class RoleRights final : public trust::Access {
public:
    trust::ActionDecision decide(const core::Principal& principal, std::string_view action,
                                 const trust::ActionScope& scope,
                                 std::string_view lease) const override {
        const bool own_tenant = principal.tenant.empty() || scope.tenant.empty() ||
                                principal.tenant.text() == scope.tenant;
        const bool host = principal.roles.has(core::Role::kToolHost) &&
                          (action == "events.publish:tool.call.completed" ||
                           action == "events.publish:tool.call.failed" ||
                           action == "events.subscribe:tool.call.requested");
        const bool listener = principal.roles.has(core::Role::kListener) &&
                              action.starts_with("events.publish:channel.message.");
        const bool subscriber = principal.roles.has(core::Role::kSubscriber) &&
                                action.starts_with("events.subscribe:channel.");
        const bool cron = lease == "may-fire" && action == "events.publish:cron.triggered";
        const bool any = principal.roles.has(core::Role::kCliAdmin);
        return {own_tenant && (host || listener || subscriber || cron || any)
                    ? core::Verdict::kAllow
                    : core::Verdict::kDeny,
                "a rule"};
    }
    bool is_lease_active(const core::Principal&, std::string_view lease) const override {
        return lease == "may-fire";
    }
    void stream_began(std::string_view) override {}
    void stream_ended(std::string_view) override {}
};

/// Serves the API to one principal, as a listener that has found out who asks.
class Service final : public net::HttpService {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        co_await routes.answer(exchange, principal);
    }
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override {
        return routes.upgrade(request, offer, principal);
    }
    net::RequestBodyLimits limits_for(const net::HttpRequest& request) override {
        const net::RouteMatch match = routes.find(request);
        return match.route != nullptr ? match.route->limits({}) : net::RequestBodyLimits{};
    }

    net::Routes<core::PrincipalRef> routes;
    std::unique_ptr<EventsApi> api;
    core::PrincipalRef principal;
};

core::PrincipalRef peer(std::string id, core::Role role, std::string tenant = {}) {
    auto made = std::make_shared<core::Principal>();
    made->id = std::move(id);
    made->roles = {role};
    made->tenant = TenantId(std::move(tenant));
    made->proof = core::Proof::kCertificate;
    return made;
}

struct EventsApiTest : testing::Test {
    const RealClock clock;
    BlockingPool writer{1}, pool{1};
    core::EventStoreMemory store;
    std::unique_ptr<core::EventOutbox> outbox =
        std::move(core::EventOutbox::open(store, writer, pool, clock).value());
    std::unique_ptr<core::EventSubscriptions> subscriptions =
        std::move(core::EventSubscriptions::load(store, pool, clock).value());
    RoleRights access;
    EventStreams streams;
    Service service;
    std::unique_ptr<net::test::ServerThread> server =
        std::make_unique<net::test::ServerThread>(clock, service);

    EventsApiTest() {
        server->thread.run([&] {
            service.api = std::make_unique<EventsApi>(
                server->thread.loop,
                EventServices{clock, *outbox, *subscriptions, access, streams});
            service.api->add_routes(service.routes);
        });
    }
    ~EventsApiTest() override {
        std::promise<void> ended;
        server->thread.loop.post([&] { service.api->stop([&] { ended.set_value(); }); });
        ended.get_future().wait();
        server.reset();
    }
    void be(core::PrincipalRef principal) {
        server->thread.run([&] { service.principal = std::move(principal); });
    }
    std::string ask(std::string_view head, std::string_view body = {}) {
        net::test::RawClient client(server->endpoint());
        client.send(fmt::format("{} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", head,
                                body.size(), body));
        return client.read_response();
    }
    /// The status of publishing, with its body.
    std::string publish(std::string_view type, std::string_view source_type,
                        std::string_view source_id, std::string_view tenant = "acme",
                        std::string_view lease = {}) {
        const std::string body = fmt::format(
            R"({{"version":"v1","event_id":"e{}","trace_id":"t","tenant_id":"{}",)"
            R"("occurred_at":"2026-02-13T16:00:00Z","event_type":"{}",)"
            R"("source":{{"component_type":"{}","component_id":"{}"}},"routing":{{"agent_id":"a",)"
            R"("session_id":"s"}},"payload":{{"call_id":"c"}}}})",
            ++count, tenant, type, source_type, source_id);
        const std::string extra = lease.empty() ? "" : fmt::format("\r\nCrab-Lease: {}", lease);
        net::test::RawClient client(server->endpoint());
        client.send(
            fmt::format("POST /v1/events HTTP/1.1\r\nHost: x{}\r\nContent-Length: {}\r\n\r\n{}",
                        extra, body.size(), body));
        return client.read_response().substr(9, 3);
    }
    /// The status of a stream's beginning.
    std::string listen(std::string_view query) {
        net::test::RawClient client(server->endpoint());
        client.send(fmt::format(
            "GET /v1/events?{} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n", query));
        return client.read_until("\r\n\r\n").substr(9, 3);
    }
    int count = 0;
};

TEST_F(EventsApiTest, AListenerPublishesMessagesAsItselfAndNothingElse) {  // 83
    be(peer("listener/mail", core::Role::kListener, "acme"));
    EXPECT_EQ(publish("channel.message.received", "listener", "mail"), "202");
    EXPECT_EQ(publish("channel.message.received", "listener", "chat"), "403");
    EXPECT_EQ(publish("channel.message.received", "gateway", "mail"), "403");
    EXPECT_EQ(publish("channel.message.received", "operator", "mail"), "403");
    EXPECT_EQ(publish("channel.message.received", "cron", "mail"), "403");
    EXPECT_EQ(publish("config.applied", "listener", "mail"), "403");
    EXPECT_EQ(publish("channel.message.received", "listener", "mail", "harbour"), "403")
        << "another tenant";
    const auto event = json::Value::parse(store.events().at(0).event.envelope).value();
    EXPECT_EQ(*event.resolve("/source/peer_id"), "mail");
    EXPECT_EQ(*event.resolve("/source/transport"), "http");
    EXPECT_EQ(store.events().size(), 1U);
}

TEST_F(EventsApiTest, WhoMayFireMayNameItselfCron) {
    be(peer("tool_host/cron-east", core::Role::kToolHost));
    EXPECT_EQ(publish("cron.triggered", "cron", "cron-east"), "403");
    EXPECT_EQ(publish("cron.triggered", "cron", "cron-east", "acme", "may-fire"), "202");
    EXPECT_EQ(publish("cron.triggered", "cron", "cron-west", "acme", "may-fire"), "403");
}

TEST_F(EventsApiTest, AStreamWithNoPermittedTypeIsRefused) {
    be(peer("subscriber/log", core::Role::kSubscriber));
    EXPECT_EQ(listen("types=tool.call.*"), "403");
    EXPECT_EQ(listen("types=tool.call.*,channel.*"), "200");
    EXPECT_EQ(listen(""), "200");
    be(peer("listener/mail", core::Role::kListener));
    EXPECT_EQ(listen(""), "403");
    be(peer("subscriber/log", core::Role::kSubscriber, "acme"));
    EXPECT_EQ(listen("tenant_id=harbour"), "403");
}

TEST_F(EventsApiTest, AnAcknowledgementReachesTheStreamOfItsPeerAlone) {
    be(peer("subscriber/log", core::Role::kSubscriber));
    EXPECT_THAT(ask("POST /v1/events/ack", R"({"cursor":"0"})"), HasSubstr(" 404 "));
    EXPECT_EQ(listen(""), "200");
    EXPECT_THAT(ask("POST /v1/events/ack", R"({"cursor":"0"})"), HasSubstr(" 200 "));
    EXPECT_THAT(ask("POST /v1/events/ack", R"({"cursor":"1"})"), HasSubstr(" 400 "));
    be(peer("subscriber/other", core::Role::kSubscriber));
    EXPECT_THAT(ask("POST /v1/events/ack", R"({"cursor":"0"})"), HasSubstr(" 404 "));
}

TEST_F(EventsApiTest, AHostsWordOnACallThatIsNotInDoubtIsDropped) {
    be(peer("tool_host/east", core::Role::kToolHost));
    EXPECT_EQ(publish("tool.call.completed", "tool_host", "east"), "202");
    EXPECT_EQ(store.steps(), (std::vector<core::CallStep>{core::CallStep::kSettles}));
    be(peer("operator/gin", core::Role::kCliAdmin));
    EXPECT_EQ(publish("tool.call.completed", "operator", "gin"), "202");
    EXPECT_EQ(store.steps().back(), core::CallStep::kNone);
}

TEST_F(EventsApiTest, AFullDiskIsToldAndOtherPathsAreOthers) {
    be(peer("listener/mail", core::Role::kListener));
    store.set_failing(true);
    EXPECT_EQ(publish("channel.message.received", "listener", "mail"), "503");
    EXPECT_THAT(ask("GET /v1/eventsx"), HasSubstr(" 404 "));
    EXPECT_THAT(ask("GET /v1/events/ack"), HasSubstr("Allow: POST"));
    EXPECT_THAT(ask("DELETE /v1/events"), HasSubstr("Allow: GET, POST"));
}

}  // namespace
}  // namespace crab::rtp
