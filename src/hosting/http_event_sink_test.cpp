#include "hosting/http_event_sink.hpp"

#include "base/task/spawn.hpp"
#include "net/http/test_support.hpp"

#include <future>

namespace crab::hosting {
namespace {

using namespace std::chrono_literals;

/// Answers every request as it was told, and remembers the last.
class ScriptedGateway final : public net::HttpService {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        asked = std::string(exchange.request().method()) + " " +
                std::string(exchange.request().target()) + " " +
                std::string(exchange.request().body);
        if (status == 202) {
            exchange.respond(202, "application/json", R"({"accepted":true,"event_id":"e"})");
        } else {
            exchange.respond_error(status, "CODE", "what is wrong", {{"Retry-After", "7"}});
        }
        co_return;
    }
    int status = 202;
    std::string asked;
};

class HttpEventSinkTest : public testing::Test {
protected:
    ~HttpEventSinkTest() override {
        loop.run([&] { sink.reset(); });
    }
    Result<void> publish(std::string envelope = "{}") {
        std::promise<Result<void>> done;
        loop.run([&] {
            spawn(loop.loop.executor(), sink->publish(std::move(envelope)),
                  [&](const std::exception_ptr&, std::optional<Result<void>> result) {
                      done.set_value(std::move(*result));
                  });
        });
        return done.get_future().get();
    }

    const RealClock clock;
    ScriptedGateway gateway;
    std::unique_ptr<net::test::ServerThread> server =
        std::make_unique<net::test::ServerThread>(clock, gateway, net::HttpServerOptions(), true);
    net::test::LoopThread loop{clock};
    std::unique_ptr<HttpEventSink> sink = connected();

    std::unique_ptr<HttpEventSink> connected() {
        net::HttpAuthority authority;
        authority.server.addresses = {*net::to_socket_address(server->endpoint())};
        auto made = std::make_unique<HttpEventSink>(loop.loop);
        made->connect_to(std::move(authority));
        return made;
    }
};

TEST_F(HttpEventSinkTest, AnEventIsPostedAsItIs) {
    EXPECT_TRUE(publish(R"({"event_id":"e"})"));
    EXPECT_EQ(gateway.asked, R"(POST /v1/events {"event_id":"e"})");
}

TEST_F(HttpEventSinkTest, ARefusalKeepsItsMeaningAndItsWord) {
    const std::pair<int, ErrorCode> refusals[] = {
        {400, ErrorCode::kInvalidArgs}, {401, ErrorCode::kUnauthenticated},
        {403, ErrorCode::kForbidden},   {404, ErrorCode::kUnavailable},
        {409, ErrorCode::kConflict},    {413, ErrorCode::kOversize},
        {429, ErrorCode::kRateLimited}, {500, ErrorCode::kUnavailable},
        {504, ErrorCode::kTimeout}};
    for (const auto& [status, code] : refusals) {
        gateway.status = status;
        const auto refused = publish();
        ASSERT_FALSE(refused) << status;
        EXPECT_EQ(refused.error().code, code) << status;
        EXPECT_EQ(refused.error().message, "what is wrong");
        EXPECT_EQ(refused.error().retry_after, 7s);
    }
}

TEST_F(HttpEventSinkTest, BeforeItIsToldOfAGatewayItTakesNothing) {
    loop.run([&] { sink = std::make_unique<HttpEventSink>(loop.loop); });
    EXPECT_EQ(publish().error().code, ErrorCode::kUnavailable);
}

TEST_F(HttpEventSinkTest, AGatewayThatIsAwayIsUnavailable) {
    server.reset();
    EXPECT_EQ(publish().error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace crab::hosting
