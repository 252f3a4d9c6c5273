#include "adapters/mcp/auth/resource_server.hpp"
#include "adapters/mcp/auth/test_fetcher.hpp"
#include "net/http/routed_service.hpp"
#include "net/http/test_support.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

/// A listener without any credential.
class Listener final : public net::RoutedService<core::PrincipalRef> {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        const core::PrincipalRef nobody;
        co_await routes_.answer(exchange, nobody);
    }
};

std::string answer_to(const net::test::ServerThread& server, std::string_view path) {
    net::test::RawClient client(server.endpoint());
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: gw.example\r\n\r\n");
    return client.read_response();
}

// Row 108: what clients probe, with OAuth and without.
TEST(McpMetadataRoutes, TheResourceIsDescribedAtItsTwoPlacesAndNothingElseIs) {
    const RealClock clock;
    TimerWheel timers(clock);
    test::TestFetcher fetcher;
    const ResourceServer resource(
        fetcher, timers, clock,
        {.issuer = "https://login.example", .resource = "https://gw.example/mcp"});
    Listener with_oauth, without;
    resource.add_routes(with_oauth.routes());
    const net::test::ServerThread described(clock, with_oauth), silent(clock, without);
    for (const char* path :
         {"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"}) {
        const std::string answer = answer_to(described, path);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
        EXPECT_TRUE(answer.ends_with(resource.metadata())) << answer;
        EXPECT_NE(answer.find("Access-Control-Allow-Origin: *"), std::string::npos) << answer;
        const std::string none = answer_to(silent, path);
        EXPECT_TRUE(none.starts_with("HTTP/1.1 404")) << none;
        EXPECT_NE(none.find("application/json"), std::string::npos) << none;
    }
    for (const char* path :
         {"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
          "/register", "/authorize", "/token"}) {
        const std::string answer = answer_to(described, path);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 404")) << answer;
        EXPECT_NE(answer.find("application/json"), std::string::npos) << answer;
    }
}

}  // namespace
}  // namespace crab::mcp
