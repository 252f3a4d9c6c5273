#include "net/http/routed_service.hpp"

#include "net/http/test_support.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::ServerThread;
using testing::HasSubstr;
using testing::Not;

/// Three routes, for everybody; pages of https://good.example may read.
class Service final : public RoutedService<int> {
public:
    Service() {
        add_health_routes({"/healthz"}, {.who = Caller::kAnyone, .head = true});
        routes_.add({.method = Method::kPost,
                     .path = "/notes/{name}",
                     .summary = "test",
                     .body = RequestBodyLimits{.max_bytes = 10}},
                    [](const Request& request) {
                        request.exchange.respond(200, "text/plain", request.arguments["name"]);
                    });
        routes_.add({.method = Method::kDelete, .path = "/notes/{name}", .summary = "test"},
                    [](const Request& request) { request.exchange.respond(204, "", ""); });
    }
    Task<void> serve(HttpExchange& exchange) override {
        const HttpRequest& request = exchange.request();
        if (request.find("origin") == "https://good.example")
            exchange.share_with(*request.find("origin"));
        if (!found_or_refused(exchange, request.match)) co_return;
        const int nobody = 0;
        const Request routed{exchange, nobody, request.match.arguments};
        if (!routes_.serve_now(request.match, routed))
            co_await routes_.serve(request.match, routed);
    }
};

struct RoutedServiceTest : testing::Test {
    RealClock clock;
    Service service;
    ServerThread server{clock, service};
    std::string ask(std::string_view line, std::string_view fields = {},
                    std::string_view body = {}) {
        RawClient client(server.endpoint());
        client.send(fmt::format("{} HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", line,
                                fields, body.size(), body));
        return client.read_response();
    }
    std::string metrics() {
        std::string out;
        server.thread.run([&] {
            const ListenerMetrics listeners[] = {
                {.name = "test", .routes = &service.table(), .loops = {&service.metrics()}}};
            append_route_metrics(out, listeners);
            return 0;
        });
        return out;
    }
};

TEST_F(RoutedServiceTest, ABodyIsBoundedByItsRouteAndTheMatchOutlivesItsArrival) {
    EXPECT_THAT(ask("POST /notes/a%20b", {}, "0123456789"), testing::EndsWith("\r\n\r\na b"));
    EXPECT_THAT(ask("POST /notes/a", {}, "0123456789x"), HasSubstr("HTTP/1.1 413 "));
    RawClient slow(server.endpoint());
    slow.send("POST /notes/slow HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n");
    EXPECT_THAT(ask("POST /notes/other"), testing::EndsWith("other"));
    slow.send("abc\r\n0\r\n\r\n");
    EXPECT_THAT(slow.read_response(), testing::EndsWith("\r\n\r\nslow"));
}

TEST_F(RoutedServiceTest, RequestsOfOneConnectionHaveEachTheirRoute) {
    RawClient client(server.endpoint());
    client.send(
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nDELETE /notes/a HTTP/1.1\r\nHost: h\r\n\r\n"
        "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\nGET /notes/a HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr(" 200 "));
    EXPECT_THAT(client.read_response(), HasSubstr(" 204 "));
    EXPECT_THAT(client.read_response(), HasSubstr(" 404 "));
    const std::string other = client.read_response();
    EXPECT_THAT(other, HasSubstr(" 405 "));
    EXPECT_THAT(other, HasSubstr("Allow: POST, DELETE\r\n"));
}

TEST_F(RoutedServiceTest, OptionsTellWhatAPathAllows) {
    const std::string answer = ask("OPTIONS /notes/a");
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 204 "));
    EXPECT_THAT(answer, HasSubstr("Allow: POST, DELETE, OPTIONS\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
    EXPECT_THAT(ask("OPTIONS /nothing"), HasSubstr("HTTP/1.1 404 "));
}

TEST_F(RoutedServiceTest, OnlyAnOriginThatTheServiceTrustsIsNamed) {
    constexpr std::string_view kAsked = "Access-Control-Request-Method: DELETE\r\n";
    const std::string good =
        ask("OPTIONS /notes/a", fmt::format("Origin: https://good.example\r\n{}", kAsked));
    EXPECT_THAT(good, HasSubstr("Access-Control-Allow-Origin: https://good.example\r\n"));
    EXPECT_THAT(good, HasSubstr("Access-Control-Allow-Methods: POST, DELETE\r\n"));
    EXPECT_THAT(good, HasSubstr("Vary: Origin\r\n"));
    EXPECT_THAT(good, HasSubstr("Mcp-Session-Id, Retry-After, WWW-Authenticate\r\n"));
    EXPECT_THAT(good, Not(HasSubstr("Allow-Credentials")));
    const std::string params =
        ask("OPTIONS /notes/a",
            fmt::format("Origin: https://good.example\r\n{}Access-Control-Request-Headers: "
                        "content-type, mcp-param-region,Mcp-Param-Tier, mcp-param-, x-other\r\n",
                        kAsked));
    EXPECT_THAT(params, HasSubstr(", mcp-param-region, Mcp-Param-Tier\r\n"));
    const std::string foreign =
        ask("OPTIONS /notes/a", fmt::format("Origin: https://evil.example\r\n{}", kAsked));
    EXPECT_THAT(foreign, Not(HasSubstr("Access-Control")));
    RawClient client(server.endpoint());  // the next request of a connection starts anew
    client.send(
        "GET /healthz HTTP/1.1\r\nHost: h\r\nOrigin: https://good.example\r\n\r\n"
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr("Access-Control-Allow-Origin"));
    EXPECT_THAT(client.read_response(), Not(HasSubstr("Access-Control")));
}

TEST_F(RoutedServiceTest, WhatTheServiceAndTheLayerBelowAnswerIsCountedByRoute) {
    ask("GET /healthz");
    ask("GET /healthz");
    ask("POST /notes/a", {}, "0123456789x");
    ask("GET /nothing");
    ask("no request at all");
    const std::string page = metrics();
    EXPECT_THAT(page, HasSubstr("route=\"/healthz\",method=\"GET\",status=\"2xx\"} 2\n"));
    EXPECT_THAT(page, HasSubstr("route=\"/notes/{name}\",method=\"POST\",status=\"4xx\"} 1\n"));
    EXPECT_THAT(page, HasSubstr("route=\"other\",method=\"other\",status=\"4xx\"} 1\n"));
}

}  // namespace
}  // namespace crab::net
