#include "adapters/mcp/auth/guarded_fetch.hpp"
#include "adapters/mcp/auth/url_bounds.hpp"

#include "base/task/spawn.hpp"
#include "net/http/test_support.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

/// A server with the traps of docs/protocols/mcp.md, 6.4.
class Traps : public net::HttpService {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        ++served;
        const std::string_view path = exchange.request().path();
        if (path == "/away") {
            exchange.respond(302, "text/plain", "", {{"Location", "/metadata"}});
        } else if (path == "/huge") {
            exchange.respond(200, "application/json",
                             std::string(GuardedFetch::kMostBytes + 1, ' '));
        } else if (path == "/hangs") {
            Waiter for_ever(exchange.loop().timers());
            co_await for_ever.wait(kNoDeadline);
        } else if (path == "/echo") {
            exchange.respond(201, "application/json", exchange.request().body);
        } else {
            exchange.respond(200, "application/json", exchange.request().target());
        }
    }
    std::atomic<int> served = 0;
};

class McpGuardedFetch : public ::testing::Test {
protected:
    Result<FetchReply> fetch(std::string url, FetchReach reach, Milliseconds within = 20'000ms,
                             std::string body = {}) {
        auto promise = std::make_shared<std::promise<Result<FetchReply>>>();
        auto future = promise->get_future();
        loop_.run([&] {
            FetchRequest request{.url = std::move(url), .reach = reach};
            request.deadline = loop_.loop.now() + within;
            request.body = body;
            if (!body.empty()) request.content_type = "application/json";
            spawn(loop_.loop.executor(), fetcher_.fetch(std::move(request)),
                  [promise](const std::exception_ptr&, std::optional<Result<FetchReply>> reply) {
                      promise->set_value(std::move(*reply));
                  });
        });
        return future.get();
    }
    ErrorCode refusal(std::string url, FetchReach reach) {
        const auto reply = fetch(std::move(url), reach);
        return reply ? ErrorCode::kInternal : reply.error().code;
    }
    std::string url(std::string_view host, std::string_view path) const {
        return "http://" + std::string(host) + ":" + std::to_string(server_.endpoint().port) +
               std::string(path);
    }

    const RealClock clock_;
    Traps traps_;
    net::test::ServerThread server_{clock_, traps_};
    /// Every name is one of this machine, as a hostile server of names may say.
    net::NameLookups names_{
        1, [](const net::Endpoint& endpoint) {
            return Result<std::vector<net::SocketAddress>>(
                {*net::to_socket_address(net::Endpoint::tcp(
                    endpoint.host == "inside.example" ? "10.0.0.1" : "127.0.0.1", endpoint.port))});
        }};
    net::test::LoopThread loop_{clock_};
    GuardedFetch fetcher_{
        loop_.loop, names_,
        net::TlsContext::make({.role = net::TlsContext::Role::kClient,
                               .peer_check = net::TlsContext::PeerCheck::kChainAndName})
            .value()};
};

TEST_F(McpGuardedFetch, ALoopbackServerIsAskedWhereThatIsAllowed) {
    const auto reply = fetch(url("127.0.0.1", "/metadata?a=b"), FetchReach::kLoopbackToo);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "/metadata?a=b");
    EXPECT_TRUE(fetch(url("localhost", "/"), FetchReach::kConfigured));
    const auto posted = fetch(url("127.0.0.1", "/echo"), FetchReach::kLoopbackToo, 20s, "{}");
    ASSERT_TRUE(posted);
    EXPECT_EQ(posted->status, 201);
    EXPECT_EQ(posted->body, "{}");
}

// Row 113.
TEST_F(McpGuardedFetch, PlainAndPrivateServersAreNotAsked) {
    const std::string port = ":" + std::to_string(server_.endpoint().port);
    for (const std::string& text :
         {url("127.0.0.1", "/"), url("names.example", "/"), "https://127.0.0.1" + port + "/",
          "https://localhost" + port + "/", "https://[::1]" + port + "/",
          "https://[::ffff:127.0.0.1]" + port + "/", "https://rebound.example" + port + "/",
          std::string("https://10.0.0.1/"), std::string("https://169.254.169.254/latest"),
          std::string("https://192.168.1.1/"), std::string("https://inside.example/"),
          std::string("https://[fd00::1]/"), std::string("https://224.0.0.1/"),
          std::string("ftp://example.org/"), std::string("https://user@example.org/"),
          std::string("file:///etc/passwd"), std::string()}) {
        EXPECT_EQ(refusal(text, FetchReach::kPublic), ErrorCode::kForbidden) << text;
    }
    EXPECT_EQ(refusal("https://rebound.example" + port + "/", FetchReach::kLoopbackToo),
              ErrorCode::kForbidden)
        << "a name of the internet that resolves to this machine";
    EXPECT_EQ(refusal("https://10.0.0.1/", FetchReach::kLoopbackToo), ErrorCode::kForbidden);
    EXPECT_EQ(refusal("http://10.0.0.1/", FetchReach::kConfigured), ErrorCode::kForbidden);
    EXPECT_EQ(traps_.served, 0) << "and nobody was connected to";
}

// Row 113.
TEST_F(McpGuardedFetch, RedirectsAreNotFollowed) {
    EXPECT_EQ(refusal(url("127.0.0.1", "/away"), FetchReach::kLoopbackToo), ErrorCode::kForbidden);
    EXPECT_EQ(traps_.served, 1);
}

TEST_F(McpGuardedFetch, HugeAndSlowAnswersEnd) {
    EXPECT_EQ(refusal(url("127.0.0.1", "/huge"), FetchReach::kLoopbackToo), ErrorCode::kOversize);
    const auto reply = fetch(url("127.0.0.1", "/hangs"), FetchReach::kLoopbackToo, 50ms);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kTimeout);
}

TEST(McpUrlBounds, BelowIsTheSameOriginAndThePathUpToABoundary) {
    const auto below = [](const char* outer, const char* inner) {
        return is_below(*net::HttpUrl::parse(outer), *net::HttpUrl::parse(inner));
    };
    EXPECT_TRUE(below("https://a/mcp", "https://a/mcp"));
    EXPECT_TRUE(below("https://a/mcp/", "https://a/mcp/x"));
    EXPECT_TRUE(below("https://a", "https://a/mcp"));
    EXPECT_FALSE(below("https://a/mcp", "https://a/mcpx"));
    EXPECT_FALSE(below("https://a/mcp", "https://a"));
    EXPECT_FALSE(below("https://a/mcp", "http://a/mcp"));
    EXPECT_FALSE(below("https://a/mcp", "https://a:444/mcp"));
    EXPECT_FALSE(below("https://b/mcp", "https://a/mcp"));
}

}  // namespace
}  // namespace crab::mcp
