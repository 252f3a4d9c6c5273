#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"

#include <atomic>

namespace crab::net {
namespace {

using test::RawClient;
using test::ServerThread;

/// Reads `/upload` piece by piece, at the pace that the test sets; refuses `/no` by its head alone.
class UploadService final : public HttpService {
public:
    bool streams_body(const HttpRequest& request) override { return request.path() != "/whole"; }
    RequestBodyLimits limits_for(const HttpRequest&) override {
        return {.max_bytes = std::size_t{8} << 20, .timeout = Milliseconds(1'000)};
    }

    Task<void> serve(HttpExchange& exchange) override {
        if (exchange.request().path() == "/no") {
            exchange.respond_error(403, "FORBIDDEN", "not here");
            co_return;
        }
        if (exchange.request().path() == "/sized") {
            exchange.start_sized_stream(200, "text/plain", 10);
            exchange.write_chunk("01234");
            if (exchange.request().query() != "short") exchange.write_chunk("56789 and more");
            exchange.end_stream();
            co_return;
        }
        began += 1;
        std::size_t size = exchange.request().body.size();
        for (;;) {
            if (std::exchange(slow, false)) {
                connection = exchange.request().connection;
                co_await go_on.wait();
            }
            auto piece = co_await exchange.read_body();
            if (!piece) {
                ended_with = piece.error().code;
                exchange.respond_error(400, token_of(piece.error().code), piece.error().message);
                co_return;
            }
            if (piece->empty()) break;
            size += piece->size();
            largest = std::max(largest.load(), piece->size());
        }
        exchange.respond(200, "text/plain", std::to_string(size));
    }

    int began = 0;  // on the loop, as are the next
    bool slow = false;
    Wakeup go_on;
    Connection* connection = nullptr;
    std::atomic<std::size_t> largest = 0;
    std::atomic<std::optional<ErrorCode>> ended_with;
};

class HttpStreamedBodyTest : public ::testing::Test {
protected:
    FakeClock clock;
    UploadService service;
    ServerThread server{clock, service};
    RawClient client{server.endpoint()};
};

TEST_F(HttpStreamedBodyTest, ABodyOfKnownLengthComesInPiecesAndTheConnectionGoesOn) {
    const std::string body(3'000'000, 'x');
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + body +
                "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_TRUE(client.read_response().ends_with("3000000"));
    EXPECT_TRUE(client.read_response().ends_with("\r\n2"));
    EXPECT_LE(service.largest, HttpExchange::kBodyWindow + std::size_t{256} * 1024)
        << "the window and one read";
}

TEST_F(HttpStreamedBodyTest, AChunkedBodyComesWithoutItsFraming) {
    client.send(
        "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    client.send("4\r\ndefg\r\n0\r\n\r\n");
    EXPECT_TRUE(client.read_response().ends_with("\r\n7"));
}

TEST_F(HttpStreamedBodyTest, ABodyThatDripsIsGivenUp) {
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    server.run_until([&] { return service.began > 0; });
    for (int i = 0; i < 3; ++i) {  // never silent for a second
        client.send("x");
        server.thread.advance(clock, Milliseconds(600));
    }
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(service.ended_with.load(), ErrorCode::kTimeout);
}

TEST_F(HttpStreamedBodyTest, ABodyThatIsNotStreamedIsStillWhole) {
    client.send("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_TRUE(client.read_response().ends_with("\r\n4"));
}

TEST_F(HttpStreamedBodyTest, ContinueIsSaidOnlyOnceTheBodyIsWanted) {
    client.send(
        "POST /upload HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 100"));
    client.send("ok");
    EXPECT_TRUE(client.read_response().ends_with("\r\n2"));
    client.send(
        "POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 403"));
}

TEST_F(HttpStreamedBodyTest, AnAnswerBeforeTheEndOfTheBodyClosesTheConnection) {
    client.send("POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nsome of it");
    const std::string answer = client.read_response();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403"));
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    client.half_close();
    EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpStreamedBodyTest, ALengthBeyondTheLimitIs413AtOnceAndAChunkedOneOnTheWay) {
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n");
    EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 413"));
    RawClient other(server.endpoint());
    other.send("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n900000\r\n");
    EXPECT_NE(other.read_response().find("OVERSIZE"), std::string::npos);
}

TEST_F(HttpStreamedBodyTest, BrokenChunksAreTold) {
    client.send(
        "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n");
    EXPECT_NE(client.read_response().find("INVALID_ARGS"), std::string::npos);
}

TEST_F(HttpStreamedBodyTest, ACallerThatFallsSilentIsATimeout) {
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nsome of it");
    server.run_until([&] { return service.largest > 0; });
    server.thread.advance(clock, std::chrono::seconds(2));
    EXPECT_NE(client.read_response().find("TIMEOUT"), std::string::npos);
}

TEST_F(HttpStreamedBodyTest, ACallerThatLeavesInTheMiddleCancelsTheRest) {
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nsome of it");
    server.run_until([&] { return service.largest > 0; });
    client.reset();
    server.run_until([&] { return service.ended_with.load() == ErrorCode::kCancelled; });
}

TEST_F(HttpStreamedBodyTest, AServiceThatIsBehindStopsTheCaller) {
    service.slow = true;
    std::thread sender([&] {
        client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n" +
                    std::string(8'000'000, 'x'));
    });
    server.run_until([&] { return service.connection != nullptr && service.connection->paused(); });
    server.thread.run([&] {
        service.go_on.wake();
        return true;
    });
    EXPECT_TRUE(client.read_response().ends_with("8000000"));
    sender.join();
    EXPECT_LE(service.largest, HttpExchange::kBodyWindow + std::size_t{256} * 1024);
}

TEST_F(HttpStreamedBodyTest, ABodyThatJustFillsTheWindowHasItsEnd) {
    service.slow = true;
    const std::string body(HttpExchange::kBodyWindow, 'x');
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    server.run_until([&] { return service.connection != nullptr; });
    server.thread.run([&] {
        service.go_on.wake();
        return true;
    });
    EXPECT_TRUE(client.read_response().ends_with("\r\n" + std::to_string(body.size())));
}

TEST_F(HttpStreamedBodyTest, ASizedAnswerHasItsLengthAndNeverMore) {
    client.send("GET /sized HTTP/1.1\r\nHost: a\r\n\r\nGET /sized HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\n0123456789"));
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\n0123456789"));
    RawClient other(server.endpoint());
    other.send("GET /sized?short HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(other.read_to_end().find("56789"), std::string::npos)
        << "a break tells that it is not whole";
}

TEST_F(HttpStreamedBodyTest, HeadOfASizedAnswerHasTheLengthAlone) {
    client.send(
        "HEAD /sized HTTP/1.1\r\nHost: a\r\n\r\nPOST /upload HTTP/1.1\r\nHost: "
        "a\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 10"), std::string::npos);
    EXPECT_TRUE(client.read_response().ends_with("\r\n2"));
}

}  // namespace
}  // namespace crab::net
