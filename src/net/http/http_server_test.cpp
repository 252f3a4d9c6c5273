#include "net/http/http_server.hpp"

#include "base/task/spawn.hpp"
#include "base/task/waiter.hpp"
#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"

#include <algorithm>
#include <fstream>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::ServerThread;

/// Answers by path; what it sees of cancellation is counted.
class EchoService : public HttpService {
public:
    bool knows(const Connection& connection) override {
        return connection.peer().ip() == known_address;
    }
    Task<void> serve(HttpExchange& exchange) override {
        const std::string_view path = exchange.request().path();
        const std::string_view caller = exchange.request().find("x-caller").value_or("");
        if (!caller.empty() && !exchange.prove_caller(caller)) {
            exchange.respond(429, "text/plain", "too many");
        } else if (path == "/wait") {
            co_await wait_for_ever(exchange);
        } else if (path == "/keep") {
            exchange.keep_running_when_caller_leaves();
            co_await wait_for_ever(exchange);
        } else if (path == "/finish") {
            co_await wait_for_finish(exchange);
        } else if (path == "/stopped") {
            exchange.loop().post([&exchange] { exchange.canceller().emit(); });
            Waiter for_ever(exchange.loop().timers());
            if (co_await for_ever.wait(kNoDeadline) == WaitEnd::kCancelled)
                exchange.respond(409, "text/plain", "stopped");
        } else if (path == "/later") {
            co_await yield_to_loop();
            exchange.respond(200, "text/plain", exchange.request().body);
        } else if (path == "/stream") {
            exchange.start_stream(200, "text/plain");
            exchange.write_chunk("one");
            co_await yield_to_loop();
            exchange.write_chunk("two");
            exchange.end_stream();
        } else if (path == "/flood") {
            co_await flood(exchange);
        } else {
            answer_at_once(exchange);
        }
    }
    Task<void> wait_for_ever(HttpExchange& exchange) {
        waiting += 1;
        Waiter for_ever(exchange.loop().timers());
        if (co_await for_ever.wait(kNoDeadline) == WaitEnd::kCancelled) cancelled += 1;
    }
    Task<void> wait_for_finish(HttpExchange& exchange) {
        exchange.keep_running_when_caller_leaves();
        Wakeup told;
        finish = [&told] { told.wake(); };
        waiting += 1;
        co_await told.wait();
        exchange.respond(200, "text/plain", "finished");
        finished += exchange.caller_gone() ? 100 : 1;
    }
    Task<void> flood(HttpExchange& exchange) {
        exchange.start_stream(200, "application/octet-stream");
        const std::string chunk(16 * 1024, 'x');
        for (int i = 0; i < 1024; ++i) {
            exchange.write_chunk(chunk);
            most_queued =
                std::max(most_queued.load(), exchange.request().connection->queued_bytes());
            co_await exchange.drained();
            if (exchange.caller_gone()) co_return;
        }
        exchange.end_stream();
    }
    void answer_at_once(HttpExchange& exchange) {
        const HttpRequest& request = exchange.request();
        if (request.path() == "/throw") {
            throw std::runtime_error("on purpose");
        } else if (request.path() == "/direct") {
            std::string& out = exchange.begin_response(200, "text/plain");
            out += request.query();
            exchange.finish_response();
        } else if (request.path() == "/bulk") {
            exchange.respond(200, "application/octet-stream", std::string(32 * 1024 * 1024, 'x'));
            bulk += 1;
        } else if (request.path() == "/wide") {
            exchange.respond(200, "application/octet-stream", std::string(500'000, 'w'));
            wide += 1;
            most_queued = std::max(most_queued.load(), request.connection->queued_bytes());
        } else if (request.path() == "/half") {
            exchange.begin_response(200, "text/plain") += "half an answer";
            throw std::runtime_error("on purpose");
        } else if (request.path() == "/twice") {
            exchange.respond(200, "text/plain", "first");
            exchange.respond(200, "text/plain", "second");
            exchange.begin_response(200, "text/plain") += "third";
            exchange.finish_response();
        } else if (request.path() == "/silent" || request.query() == "silent") {
            return;
        } else if (request.path() == "/peer") {
            exchange.respond(200, "text/plain", request.peer.text());
        } else if (request.path() == "/socket") {
            exchange.respond(200, "text/plain", socket_options(request.connection->fd()));
        } else if (request.path() == "/in_a_row") {
            if (in_a_row++ == 0)
                exchange.loop().post([this] {
                    most_in_a_row = std::max(most_in_a_row, std::exchange(in_a_row, 0));
                });
            exchange.respond(200, "text/plain", "served");
        } else if (request.path() == "/fields") {
            exchange.respond(204, {}, {}, {{"X-Good", "yes"}, {"X-Bad", "a\r\nInjected: 1"}});
        } else {
            exchange.respond(200, "text/plain",
                             request.body.empty() ? request.target() : request.body);
        }
    }
    static std::string socket_options(int fd) {
        const auto option = [fd](int level, int name) {
            int value = -1;
            socklen_t size = sizeof value;
            ::getsockopt(fd, level, name, &value, &size);
            return value;
        };
        return fmt::format("{} {} {} {}", option(IPPROTO_TCP, TCP_NODELAY),
                           option(SOL_SOCKET, SO_KEEPALIVE), option(IPPROTO_TCP, TCP_KEEPIDLE),
                           option(IPPROTO_TCP, TCP_KEEPCNT));
    }
    BodyAdmission admit_body(const HttpRequest& request) override {
        return {.admitted = request.path() != "/closed",
                .budget = request.path() == "/paid" ? budget : nullptr};
    }
    RequestBodyLimits limits_for(const HttpRequest& request) override {
        return {
            .max_bytes = request.path() == "/large" ? std::size_t{64} << 20 : std::size_t{1} << 20,
            .timeout = 10s};
    }

    std::optional<Refusal> refuse_head(const HttpRequest& request) override {
        if (request.path() != "/private") return std::nullopt;
        return Refusal{.status = 401,
                       .content_type = "text/plain",
                       .body = "who are you?",
                       .headers = {{"X-Why", "no certificate"}}};
    }
    void refusal_body(const HttpRequest* request, int status, std::string_view reason,
                      std::string& body) override {
        if (request == nullptr || request->path() != "/own")
            return HttpService::refusal_body(request, status, reason, body);
        body += fmt::format("own {} for {}: {}", status, request->find("x-call").value_or("nobody"),
                            request->body.size());
    }

    std::string known_address;  // whoever connects from there is known
    std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(300'000);
    // requests between which the loop did nothing else; the loop's
    int in_a_row = 0, most_in_a_row = 0;
    std::atomic<int> waiting = 0;
    std::atomic<int> cancelled = 0;
    std::function<void()> finish;       // on the loop
    std::atomic<int> finished = 0;      // answers given; 100 for one whose caller was gone
    std::atomic<int> bulk = 0;
    std::atomic<int> wide = 0;
    std::atomic<std::size_t> most_queued = 0;
};

class HttpServerTest : public ::testing::Test {
protected:
    void use(HttpServerOptions options, bool unix_socket = false) {
        server.reset();
        server = std::make_unique<ServerThread>(clock, service, std::move(options), unix_socket);
    }
    void wait_for_a_request() {
        server->run_until([&] { return service.waiting == 1; });
    }

    FakeClock clock;
    EchoService service;
    std::unique_ptr<ServerThread> server = std::make_unique<ServerThread>(clock, service);
};

constexpr std::string_view kGet = "GET /a?b=1 HTTP/1.1\r\nHost: h\r\n\r\n";

std::string as(std::string_view caller, std::string_view path) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nX-Caller: {}\r\n\r\n", path, caller);
}

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
    RawClient client(server->endpoint());
    for (int i = 0; i < 3; ++i) {
        client.send(kGet);
        EXPECT_EQ(client.read_response(),
                  "HTTP/1.1 200 OK\r\nDate: Thu, 28 May 2026 20:26:40 GMT\r\nContent-Type: "
                  "text/plain\r\nContent-Length: 6\r\n\r\n/a?b=1");
    }
    EXPECT_EQ(server->connections(), 1u);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
    RawClient client(server->endpoint());
    std::string burst;
    for (int i = 0; i < 200; ++i)
        burst +=
            fmt::format("GET /{}{} HTTP/1.1\r\nHost: h\r\n\r\n", i % 3 == 0 ? "later?" : "", i);
    for (int i = 0; i < 200; ++i)
        burst +=
            fmt::format("POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n{:03}", i);
    client.send(burst);
    for (int i = 0; i < 200; ++i) {
        const std::string answer = client.read_response();
        if (i % 3 != 0) EXPECT_TRUE(answer.ends_with(fmt::format("/{}", i))) << answer;
    }
    for (int i = 0; i < 200; ++i)
        EXPECT_TRUE(client.read_response().ends_with(fmt::format("{:03}", i)));
}

TEST_F(HttpServerTest, OthersAreServedWhileOneConnectionSendsManyRequestsAtOnce) {
    RawClient client(server->endpoint());
    std::string burst;
    for (int i = 0; i < 1000; ++i) burst += "GET /in_a_row HTTP/1.1\r\nHost: h\r\n\r\n";
    client.send(burst);
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(client.read_response().ends_with("served"));
    RawClient other(server->endpoint());  // its answer comes after everything that was posted
    other.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    other.read_response();
    EXPECT_GT(service.most_in_a_row, 0);
    EXPECT_LE(service.most_in_a_row, 4);
}

TEST_F(HttpServerTest, TakesARequestByteByByte) {
    RawClient client(server->endpoint());
    for (const char c : std::string("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                    "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
        client.send({&c, 1});
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\nabcde"));
}

TEST_F(HttpServerTest, TakesALargeBodyAndGivesItBack) {
    RawClient client(server->endpoint());
    const std::string body(6 << 20, 'b');
    std::thread sender([&] {
        client.send(fmt::format("POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n",
                                body.size()) +
                    body);
    });
    const std::string answer = client.read_response();
    sender.join();
    EXPECT_TRUE(answer.ends_with(body));
}

TEST_F(HttpServerTest, PatchesTheLengthOfADirectlyWrittenBody) {
    RawClient client(server->endpoint());
    for (const std::size_t size : {0u, 7u, 99u, 100u, 999u, 1000u, 7000u}) {
        const std::string query(size, 'q');
        client.send("GET /direct?" + query + " HTTP/1.1\r\nHost: h\r\n\r\n");
        const std::string answer = client.read_response();
        EXPECT_TRUE(answer.ends_with("\r\n\r\n" + query)) << size;
        EXPECT_NE(answer.find(fmt::format("Content-Length: {}\r\n", size)), std::string::npos);
    }
}

TEST_F(HttpServerTest, StreamsInChunksAndUntilCloseForHttp10) {
    RawClient client(server->endpoint());
    client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(
        client.read_until("0\r\n\r\n").ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
    client.send("GET /stream HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\nonetwo"));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
    RawClient client(server->endpoint());
    client.send(
        "HEAD /direct?abc HTTP/1.1\r\nHost: h\r\n\r\nHEAD /x HTTP/1.1\r\nHost: h\r\nConnection: "
        "close\r\n\r\n");
    EXPECT_TRUE(client.read_until("\r\n\r\n").find("Content-Length: 3\r\n") != std::string::npos);
    const std::string last = client.read_to_end();
    EXPECT_TRUE(last.ends_with("Connection: close\r\nContent-Length: 2\r\n\r\n")) << last;
}

TEST_F(HttpServerTest, LeavesOutFieldsThatWouldBreakTheHead) {
    RawClient client(server->endpoint());
    client.send("GET /fields HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(
        client.read_until("\r\n\r\n"),
        "HTTP/1.1 204 No Content\r\nDate: Thu, 28 May 2026 20:26:40 GMT\r\nX-Good: yes\r\n\r\n");
}

TEST_F(HttpServerTest, ThrowingOrSilentServicesGiveA500AndTheConnectionGoesOn) {
    RawClient client(server->endpoint());
    for (const char* path : {"/throw", "/silent", "/half"}) {
        client.send(fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", path));
        const std::string answer = client.read_response();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
        EXPECT_TRUE(answer.ends_with("\"code\":\"INTERNAL\"}")) << answer;
        EXPECT_EQ(answer.find("on purpose"), std::string::npos);
    }
    client.send(kGet);
    EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, OnlyTheFirstAnswerCounts) {
    RawClient client(server->endpoint());
    client.send(fmt::format("GET /twice HTTP/1.1\r\nHost: h\r\n\r\n{}", kGet));
    EXPECT_TRUE(client.read_response().ends_with("first"));
    EXPECT_TRUE(client.read_response().ends_with("/a?b=1"));
}

TEST_F(HttpServerTest, PipelinedBytesBeyondTheLimitWaitInTheSocket) {
    RawClient client(server->endpoint());
    std::string burst;
    for (int i = 0; i < 1000; ++i)
        burst += fmt::format(
            "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{:01000}", i);
    std::thread sender([&] { client.send(burst); });
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(client.read_response().ends_with(fmt::format("{:01000}", i))) << i;
    sender.join();
}

TEST_F(HttpServerTest, RefusesGarbageAndCloses) {
    for (const std::string_view garbage :
         {"\x16\x03\x01\x02\x01garbage", "GET / HTTP/1.1\nHost: h\n\n", "NONSENSE\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
        RawClient client(server->endpoint());
        client.send(garbage);
        const std::string answer = client.read_to_end();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
        EXPECT_NE(answer.find("\"code\":\"INVALID_ARGS\""), std::string::npos);
    }
}

TEST_F(HttpServerTest, HeadOfExactlyTheLimitPassesAndOneMoreIs431) {
    const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (const int beyond : {0, 1}) {
        std::string head = start;
        while (head.size() + 1100 < 16 * 1024)
            head += fmt::format("X: {}\r\n", std::string(1000, 'x'));
        head += fmt::format(
            "Y: {}\r\n\r\n",
            std::string(16 * 1024 + static_cast<std::size_t>(beyond) - head.size() - 7, 'y'));
        ASSERT_EQ(head.size(), 16u * 1024 + static_cast<std::size_t>(beyond));
        RawClient client(server->endpoint());
        client.send(head);
        EXPECT_TRUE(
            client.read_response().starts_with(beyond == 0 ? "HTTP/1.1 200 " : "HTTP/1.1 431 "));
    }
}

TEST_F(HttpServerTest, BodyOfExactlyTheLimitPassesAndOneMoreIs413WithTheRestUnread) {
    {
        RawClient client(server->endpoint());
        const std::string body(1 << 20, 'b');
        client.send(
            fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.size()) +
            body);
        EXPECT_TRUE(client.read_response().ends_with(body));
    }
    {
        RawClient client(server->endpoint());
        client.send(
            fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", (1 << 20) + 1) +
            std::string(300'000, 'b'));
        const std::string answer = client.read_to_end();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
        EXPECT_TRUE(answer.ends_with("\"code\":\"OVERSIZE\"}")) << answer;
    }
    {
        RawClient client(server->endpoint());
        client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n");
        EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 413 "));
    }
}

TEST_F(HttpServerTest, SaysContinueOnlyWhenTheBodyIsWanted) {
    RawClient client(server->endpoint());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    EXPECT_TRUE(client.read_response().ends_with("abc"));
    client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n");
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AServiceRefusesByTheHeadBeforeTheBodyIsRead) {
    RawClient client(server->endpoint());
    client.send(
        "GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /private HTTP/1.1\r\nHost: h\r\nExpect: "
        "100-continue\r\nContent-Length: 900000\r\n\r\n");
    client.read_response();
    const std::string answer = client.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
    EXPECT_TRUE(answer.contains("X-Why: no certificate\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nwho are you?")) << answer;
    RawClient upgrade(server->endpoint());
    upgrade.send(
        "GET /private HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_TRUE(upgrade.read_to_end().starts_with("HTTP/1.1 401 "));
}

TEST_F(HttpServerTest, SlowHeadsAndSlowBodiesAre408) {
    RawClient head(server->endpoint());
    head.send("GET / HT");
    server->run_until([&] { return server->server->connections() == 1; });
    RawClient body(server->endpoint());
    body.send(
        "POST /first HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nPOST / HTTP/1.1\r\nHost: "
        "h\r\nContent-Length: 9\r\n\r\nabc");
    body.read_response();
    server->thread.run([] {});  // the second request has begun: an iteration after the first
    // Each trickles on; the limit is for the whole, so that does not help.
    server->thread.advance(clock, 4s);
    head.send("TP");
    body.send("d");
    server->thread.advance(clock, 1100ms);
    EXPECT_TRUE(head.read_to_end().starts_with("HTTP/1.1 408 "));
    server->thread.advance(clock, 5s);
    const std::string answer = body.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
    EXPECT_TRUE(answer.ends_with("\"code\":\"TIMEOUT\"}")) << answer;
}

TEST_F(HttpServerTest, AServiceWordsTheRefusalsOfItsPaths) {
    RawClient late(server->endpoint());
    late.send(
        "POST /own HTTP/1.1\r\nHost: h\r\nX-Call: c1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n9000\r\n" +
        std::string(0x9000, 'b') + "\r\n9000\r\nb");
    server->run_until([&] { return server->server->connections() == 1; });
    RawClient large(server->endpoint());
    large.send(
        "GET /x HTTP/1.1\r\nHost: h\r\n\r\nPOST /own HTTP/1.1\r\nHost: h\r\nX-Call: "
        "c2\r\nContent-Length: 3000000\r\n\r\n");
    large.read_response();
    EXPECT_TRUE(large.read_to_end().ends_with("\r\n\r\nown 413 for c2: 0"));
    RawClient chunked(server->endpoint());
    chunked.send("POST /own HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9000\r\n" +
                 std::string(0x9000, 'b') + "\r\nnonsense\r\n");
    EXPECT_TRUE(chunked.read_to_end().ends_with("\r\n\r\nown 400 for nobody: 0"));
    RawClient silent(server->endpoint());
    silent.send(
        "POST /own?silent HTTP/1.1\r\nHost: h\r\nX-Call: c3\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_TRUE(silent.read_response().ends_with("\r\n\r\nown 500 for c3: 2"));
    server->thread.advance(clock, 11s);
    EXPECT_TRUE(late.read_to_end().ends_with("\r\n\r\nown 408 for c1: 0"));
}

TEST_F(HttpServerTest, AHeadThatIsBrokenOrLateIsRefusedInTheWordsOfItsPath) {
    RawClient late(server->endpoint());
    late.send("POST /own HTTP/1.1\r\nHost: h\r\nX-Call: c");
    server->run_until([&] { return server->server->connections() == 1; });
    const std::string line = "POST /own?a=b HTTP/1.1\r\nHost: h\r\n";
    const std::vector<std::pair<int, std::string>> broken = {
        {400, line + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
        {414, "POST /own?" + std::string(9000, 'a')},
        {417, line + "Expect: a-pony\r\n\r\n"},
        {431, line + "X-Pad: " + std::string(20'000, 'x') + "\r\n\r\n"},
        {501, line + "Transfer-Encoding: gzip\r\n\r\n"},
        {505, "POST /own HTTP/2.0\r\n\r\n"},
    };
    for (const auto& [status, bytes] : broken) {
        RawClient client(server->endpoint());
        client.send("POST /first HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
        client.read_response();
        client.send(bytes);
        const std::string answer = client.read_to_end();
        EXPECT_TRUE(answer.starts_with(fmt::format("HTTP/1.1 {} ", status))) << answer;
        EXPECT_TRUE(answer.ends_with(fmt::format("\r\n\r\nown {} for nobody: 0", status)))
            << answer;
    }
    RawClient head(server->endpoint());
    head.send("HEAD /own HTTP/1.1\r\nHost: h\r\nExpect: a-pony\r\n\r\n");
    EXPECT_TRUE(head.read_to_end().ends_with("\r\n\r\n")) << "no body follows a HEAD";
    server->thread.advance(clock, 6s);
    const std::string answer = late.read_to_end();
    EXPECT_TRUE(answer.ends_with("\r\n\r\nown 408 for nobody: 0")) << answer;
}

TEST_F(HttpServerTest, SilentAndIdleConnectionsAreClosedWithoutAWord) {
    RawClient silent(server->endpoint());
    RawClient idle(server->endpoint());
    idle.send(kGet);
    idle.read_response();
    server->run_until([&] { return server->server->connections() == 2; });
    server->thread.advance(clock, 11s);
    EXPECT_EQ(silent.read_to_end(), "");
    server->thread.advance(clock, 60s);
    idle.send(kGet);
    EXPECT_FALSE(idle.read_response().empty());
    server->thread.advance(clock, 74s);
    idle.send(kGet);
    EXPECT_FALSE(idle.read_response().empty());
    server->thread.advance(clock, 76s);
    EXPECT_EQ(idle.read_to_end(), "");
}

TEST_F(HttpServerTest, CancelsWhatACallerWaitsForWhenItLeaves) {
    for (const int way : {0, 1, 2}) {
        service.waiting = service.cancelled = 0;
        RawClient client(server->endpoint());
        client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
        wait_for_a_request();
        if (way == 0) client.close();
        if (way == 1) client.reset();
        if (way == 2) client.half_close();
        server->run_until([&] {
            return service.cancelled == 1 && (way == 2 || server->server->connections() == 0);
        });
        if (way == 2) EXPECT_EQ(client.read_to_end(), "");
    }
}

TEST_F(HttpServerTest, AnExchangeMayRunOnWhenItsCallerLeaves) {
    for (const int way : {0, 1, 2}) {
        service.waiting = service.finished = 0;
        RawClient client(server->endpoint());
        client.send("GET /finish HTTP/1.1\r\nHost: h\r\n\r\n");
        wait_for_a_request();
        if (way == 0) client.close();
        if (way == 1) client.reset();
        if (way == 2) client.half_close();
        if (way == 1) server->run_until([&] { return server->server->connections() == 0; });
        // when it is answered, the end of the first one has been seen
        RawClient other(server->endpoint());
        other.send(kGet);
        other.read_response();
        server->thread.run([&] { service.finish(); });
        EXPECT_EQ(service.finished, way == 1 ? 100 : 1);
        if (way == 2)
            EXPECT_TRUE(client.read_to_end().ends_with(
                "Connection: close\r\nContent-Length: 8\r\n\r\nfinished"));
        other.close();
        server->run_until([&] { return server->server->connections() == 0; });
    }
}

TEST_F(HttpServerTest, ExchangesWithoutCallersCountAsConnectionsAndEndWithTheServer) {
    HttpServerOptions options;
    options.max_connections = 2;
    options.count = std::make_shared<ConnectionCount>();
    const auto count = options.count;
    use(std::move(options));
    {
        RawClient first(server->endpoint()), second(server->endpoint());
        for (auto* client : {&first, &second})
            client->send("GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
        server->run_until([&] { return service.waiting == 2; });
        first.reset();
        second.reset();
        server->run_until([&] { return server->server->connections() == 0; });
    }
    RawClient third(server->endpoint());
    EXPECT_TRUE(third.read_to_end().starts_with("HTTP/1.1 503 "));
    EXPECT_EQ(service.cancelled, 0);
    server->stop();
    EXPECT_EQ(service.cancelled, 2);
    EXPECT_EQ(count->all, 0u);
}

TEST_F(HttpServerTest, ACancelledExchangeLeavesTheNextOnesAlone) {
    const std::string stopped = "GET /stopped HTTP/1.1\r\nHost: h\r\n\r\n";
    const std::string later = "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi";
    RawClient client(server->endpoint());
    client.send(stopped + later);  // one that waits in the queue already
    EXPECT_TRUE(client.read_response().ends_with("stopped"));
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\nhi"));
    client.send(stopped);  // one that comes afterwards
    EXPECT_TRUE(client.read_response().ends_with("stopped"));
    client.send(later);
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\nhi"));
}

TEST_F(HttpServerTest, AnswersWhatCameBeforeAHalfClose) {
    RawClient client(server->endpoint());
    client.send(std::string(kGet) + std::string(kGet));
    client.half_close();
    const std::string answer = client.read_to_end();
    EXPECT_EQ(std::count(answer.begin(), answer.end(), '?'), 2) << answer;
}

TEST_F(HttpServerTest, SendsAtOnceAndProbesSilentLinks) {
    RawClient client(server->endpoint());
    client.send("GET /socket HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.read_response().ends_with("\r\n\r\n1 1 60 4"));
}

TEST_F(HttpServerTest, SpeaksOverUnixSocketsAndKnowsTheUser) {
    use({}, true);
    RawClient client(server->endpoint());
    client.send("GET /peer HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.read_response().ends_with(fmt::format("unix:uid={}", ::getuid())));
    struct stat file{};
    ASSERT_EQ(::stat(server->endpoint().path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(HttpServerTest, ConnectionsBeyondTheLimitAreTold503) {
    HttpServerOptions options;
    options.max_connections = 2;
    use(std::move(options));
    RawClient first(server->endpoint()), second(server->endpoint());
    for (RawClient* const client : {&first, &second}) client->send(as("ann", "/wait"));
    server->run_until([&] { return service.waiting == 2; });
    {
        RawClient third(server->endpoint());
        const std::string answer = third.read_to_end();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
        EXPECT_TRUE(answer.ends_with("\"code\":\"UNAVAILABLE\"}")) << answer;
    }
    first.close();
    server->run_until([&] { return server->server->connections() == 1; });
    RawClient fourth(server->endpoint());
    fourth.send(kGet);
    EXPECT_TRUE(fourth.read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, NewcomersMakeWayTheOldestFirst) {
    HttpServerOptions options;
    options.max_connections = 3;
    use(std::move(options));
    RawClient proven(server->endpoint());
    proven.send(as("ann", "/"));
    proven.read_response();
    RawClient silent(server->endpoint()), half(server->endpoint());
    half.send("GET / HT");
    server->run_until([&] { return server->server->connections() == 3; });
    for (int i = 0; i < 5; ++i) {
        RawClient other(server->endpoint());
        other.send(kGet);
        EXPECT_TRUE(other.read_response().starts_with("HTTP/1.1 200 "));
        other.read_bytes(0);
    }
    EXPECT_EQ(silent.read_to_end(), "");
    proven.send(kGet);
    EXPECT_TRUE(proven.read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, WithoutNewcomersTheLongestIdleOfWhoHasMostMakesWay) {
    HttpServerOptions options;
    options.max_connections = 5;
    use(std::move(options));
    RawClient bob(server->endpoint()), working(server->endpoint());
    RawClient first(server->endpoint()), second(server->endpoint()), third(server->endpoint());
    working.send(as("ann", "/wait"));
    wait_for_a_request();
    bob.send(as("bob", "/"));
    bob.read_response();
    for (RawClient* const client : {&first, &second, &third, &first}) {
        client->send(as("ann", "/"));
        client->read_response();
    }
    RawClient other(server->endpoint());
    other.send(as("eve", "/"));
    EXPECT_TRUE(other.read_response().starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(second.read_to_end(), "") << "the first one was used after it";
    for (RawClient* const client : {&bob, &first, &third, &other}) {
        client->send(as("ann", "/"));
        EXPECT_TRUE(client->read_response().starts_with("HTTP/1.1 200 "));
    }
    EXPECT_EQ(service.cancelled, 0);
}

TEST_F(HttpServerTest, AConnectionWhoseAnswerCameBeforeItsBodyIsAtNoWorkAndMakesWay) {
    for (const std::string_view length : {"2", "x"}) {  // answered by the service, and by HTTP
        HttpServerOptions options;
        options.max_connections = 4;
        use(std::move(options));
        std::vector<std::unique_ptr<RawClient>> clients;
        for (int i = 0; i < 4; ++i) {
            clients.push_back(std::make_unique<RawClient>(server->endpoint()));
            clients.back()->send(as("ann", "/"));
            clients.back()->read_response();
        }
        for (const auto& client : clients) {
            client->send(
                fmt::format("POST /closed HTTP/1.1\r\nHost: h\r\nX-Caller: ann\r\n"
                            "Content-Length: {}\r\n\r\n",
                            length));
            EXPECT_TRUE(client->read_response().starts_with("HTTP/1.1 "));
        }
        RawClient bob(server->endpoint());
        bob.send(as("bob", "/"));
        EXPECT_TRUE(bob.read_response().starts_with("HTTP/1.1 200 ")) << length;
        server->stop();
    }
}

TEST_F(HttpServerTest, WhoHasMoreThanAQuarterMakesWayBeforeNewcomers) {
    HttpServerOptions options;
    options.max_connections = 12;
    use(std::move(options));
    std::vector<std::unique_ptr<RawClient>> clients;
    const auto prove = [&](std::string_view caller) -> RawClient& {
        clients.push_back(std::make_unique<RawClient>(server->endpoint()));
        clients.back()->send(as(caller, "/"));
        EXPECT_TRUE(clients.back()->read_response().starts_with("HTTP/1.1 200 "));
        return *clients.back();
    };
    RawClient& bob = prove("bob");
    RawClient& first = prove("ann");
    for (int i = 0; i < 8; ++i) prove("ann");
    RawClient silent(server->endpoint()), other(server->endpoint());
    server->run_until([&] { return server->server->connections() == 12; });
    prove("ann");  // the tenth; now nine are left of them
    EXPECT_EQ(first.read_to_end(), "");
    prove("eve");  // eight
    prove("eve");
    EXPECT_EQ(silent.read_to_end(), "") << "as many as a quarter may stay";
    for (RawClient* const client : {&bob, &other}) {
        client->send(kGet);
        EXPECT_TRUE(client->read_response().starts_with("HTTP/1.1 200 "));
    }
}

TEST_F(HttpServerTest, OnePrincipalIsServedOnSoManyConnectionsAtOnce) {
    for (const std::string_view way : {"/wait", "/keep"}) {
        HttpServerOptions options;
        options.max_at_work_of_one = 2;
        options.count = std::make_shared<ConnectionCount>();
        const auto count = options.count;
        use(std::move(options));
        service.waiting = 0;
        RawClient first(server->endpoint()), second(server->endpoint()), more(server->endpoint());
        for (RawClient* const client : {&first, &second}) client->send(as("ann", way));
        server->run_until([&] { return service.waiting == 2; });
        if (way == "/keep") {  // and a call that nobody waits for counts as well
            first.reset();
            server->run_until([&] { return server->server->connections() == 2; });
        }
        more.send(as("ann", "/"));
        EXPECT_TRUE(more.read_response().starts_with("HTTP/1.1 429 "));
        more.send(as("bob", "/"));
        EXPECT_TRUE(more.read_response().starts_with("HTTP/1.1 429 ")) << "it is still ann's";
        RawClient other(server->endpoint());
        other.send(as("bob", "/"));
        EXPECT_TRUE(other.read_response().starts_with("HTTP/1.1 200 "));
        if (way == "/wait") {
            first.reset();
            server->run_until([&] { return service.cancelled == 1; });
            RawClient again(server->endpoint());
            again.send(as("ann", "/"));
            EXPECT_TRUE(again.read_response().starts_with("HTTP/1.1 200 "));
        }
        server->stop();
        EXPECT_EQ(count->all, 0u);
        EXPECT_EQ(count->of("ann")->at_work, 0u);
        EXPECT_EQ(count->of("ann")->all, 0u);
    }
}

TEST_F(HttpServerTest, ABodyThatIsBeingReceivedIsWork) {
    HttpServerOptions options;
    options.max_connections = 2;
    options.max_at_work_of_one = 1;
    use(std::move(options));
    RawClient slow(server->endpoint()), idle(server->endpoint());
    for (RawClient* const client : {&slow, &idle}) {
        client->send(as("ann", "/"));
        client->read_response();
    }
    slow.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n");
    idle.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n");
    EXPECT_TRUE(idle.read_to_end().starts_with("HTTP/1.1 429 ")) << "one is received already";
    slow.send("hi");
    EXPECT_TRUE(slow.read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, OneAddressHasAQuarterOfThePlacesForNewcomers) {
    HttpServerOptions options;
    options.max_connections = 64;
    use(std::move(options));
    std::vector<std::unique_ptr<RawClient>> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<RawClient>(server->endpoint()));
    EXPECT_EQ(silent.front()->read_to_end(), "");
    EXPECT_LE(server->connections(), 17u);
}

TEST_F(HttpServerTest, AFloodFromOneAddressPutsNobodyElseOut) {
    HttpServerOptions options;
    options.max_connections = 32;
    use(std::move(options));
    std::vector<std::unique_ptr<RawClient>> others;
    for (int i = 0; i < 24; ++i) {
        others.push_back(std::make_unique<RawClient>(server->endpoint()));
        others.back()->send(as(fmt::format("caller{}", i), "/wait"));
        server->run_until([&] { return service.waiting == i + 1; });
    }
    RawClient slow(server->endpoint(), 0, "127.0.0.2");
    server->run_until([&] { return server->server->connections() == 25; });
    for (int i = 0; i < 40; ++i)
        others.push_back(std::make_unique<RawClient>(server->endpoint(), 0, "127.0.0.3"));
    EXPECT_EQ(others[24]->read_to_end(), "");
    slow.send(kGet);
    EXPECT_TRUE(slow.read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, WhereAllAreKnownAsTheyOpenNewcomersTakeNothingFromThem) {
    HttpServerOptions options;
    options.max_connections = 32;
    options.proven_at_open = true;
    service.known_address = "127.0.0.2";
    use(std::move(options));
    std::vector<std::unique_ptr<RawClient>> strangers, known;
    for (int i = 0; i < 7; ++i)  // one less than makes one of them make way
        strangers.push_back(std::make_unique<RawClient>(server->endpoint()));
    server->run_until([&] { return server->server->connections() == 7; });
    const auto connect = [&] {
        known.push_back(std::make_unique<RawClient>(server->endpoint(), 0, "127.0.0.2"));
        known.back()->send(kGet);
        return known.back()->read_response().substr(0, 13);
    };
    for (int i = 0; i < 32; ++i) EXPECT_EQ(connect(), "HTTP/1.1 200 ") << i;
    EXPECT_EQ(connect(), "HTTP/1.1 503 ");
    for (int i = 0; i < 8; ++i)
        strangers.push_back(std::make_unique<RawClient>(server->endpoint(), 0, "127.0.0.3"));
    known.front()->send(kGet);
    EXPECT_TRUE(known.front()->read_response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, ABodyThatNobodyMaySendIsNotWaitedFor) {
    for (const std::string_view framing :
         {"Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n",
          "Content-Length: 1000000\r\nExpect: 100-continue\r\n"}) {
        RawClient client(server->endpoint());
        client.send(fmt::format("POST /closed HTTP/1.1\r\nHost: h\r\n{}\r\n", framing));
        const std::string answer = client.read_response();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
        EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
        client.send(std::string(100'000, 'x'));
        EXPECT_EQ(client.read_to_end(), "");
    }
}

TEST_F(HttpServerTest, BodiesAreHeldOnTheCallersAccount) {
    const auto head = [](std::size_t length) {
        return fmt::format("POST /paid HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", length);
    };
    {
        RawClient first(server->endpoint()), second(server->endpoint()),
            chunked(server->endpoint());
        first.send(head(200'000) + "x");
        server->run_until([&] { return service.budget->held() == 200'000; });
        second.send(head(100'001) + "x");
        EXPECT_TRUE(second.read_to_end().starts_with("HTTP/1.1 429 "));
        chunked.send(
            "POST /paid HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n" +
            std::string(0x20000, 'c'));
        EXPECT_TRUE(chunked.read_to_end().starts_with("HTTP/1.1 429 "));
        first.send(std::string(199'999, 'x'));
        EXPECT_TRUE(first.read_response().starts_with("HTTP/1.1 200 "));
        EXPECT_EQ(service.budget->held(), 0u);
        first.send(head(300'000) + "x");
        server->run_until([&] { return service.budget->held() == 300'000; });
    }
    server->run_until([&] { return service.budget->held() == 0; });
}

TEST_F(HttpServerTest, WhatIsNotTakenOfAnswersIsBoundedForEachPrincipal) {
    constexpr std::size_t kBulk = 32 * 1024 * 1024;
    HttpServerOptions options;
    options.count = std::make_shared<ConnectionCount>(
        ConnectionCount::OutputLimits{.of_owner = kBulk * 3 / 2, .of_newcomers = kBulk / 2});
    const auto ann = options.count->of("ann");
    const auto newcomers = options.count->output_of_newcomers();
    use(std::move(options));
    {
        RawClient first(server->endpoint(), 4096), second(server->endpoint(), 4096);
        first.send(as("ann", "/bulk"));
        server->run_until([&] { return ann->output.held() > kBulk / 2; });
        second.send(as("ann", "/bulk"));
        EXPECT_LT(second.read_to_end().size(), kBulk) << "the first has to be taken before";
        RawClient other(server->endpoint()), stranger(server->endpoint(), 4096);
        other.send(as("bob", "/bulk"));
        EXPECT_GT(other.read_response().size(), kBulk) << "nobody else pays for it";
        stranger.send("GET /bulk HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_LT(stranger.read_to_end().size(), kBulk);
        EXPECT_GT(first.read_response().size(), kBulk);
        server->run_until([&] { return ann->output.held() == 0; });
        first.send(as("ann", "/bulk"));
        server->run_until([&] { return ann->output.held() > kBulk / 2; });
    }
    server->run_until([&] { return ann->output.held() == 0; });
    EXPECT_EQ(newcomers->held(), 0u);
}

TEST_F(HttpServerTest, AStreamWaitsForASlowReaderAndStaysBounded) {
    RawClient client(server->endpoint(), 4096);
    client.send("GET /flood HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n0\r\n\r\n").size() > 16u * 1024 * 1024, true);
    EXPECT_LT(service.most_queued, 128u * 1024);
}

TEST_F(HttpServerTest, ACallerThatTakesNothingIsDropped) {
    RawClient bulk(server->endpoint(), 4096);  // one answer, larger than the queue
    bulk.send("GET /bulk HTTP/1.1\r\nHost: h\r\n\r\n");
    RawClient stream(server->endpoint(), 4096);  // a stream
    stream.send("GET /flood HTTP/1.1\r\nHost: h\r\n\r\n");
    server->run_until([&] { return service.most_queued >= 64 * 1024 && service.bulk == 1; });
    server->thread.advance(clock, 9s);
    EXPECT_EQ(server->connections(), 2u);
    server->thread.advance(clock, 2s);
    server->run_until([&] { return server->server->connections() == 0; });
}

TEST_F(HttpServerTest, AnAnswerLargerThanTheQueueReachesWhoeverReadsIt) {
    RawClient client(server->endpoint());
    for (int i = 0; i < 2; ++i) {
        client.send("GET /bulk HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_GT(client.read_response().size(), 32u * 1024 * 1024);
    }
}

TEST_F(HttpServerTest, PipelinedRequestsWaitWhileEarlierAnswersAreNotRead) {
    constexpr int kAsked = 100;
    HttpServerOptions options;
    options.connection.max_queued_bytes = 1024 * 1024;
    use(std::move(options));
    RawClient client(server->endpoint(), 4096);
    std::string burst;
    for (int i = 0; i < kAsked; ++i) burst += "GET /wide HTTP/1.1\r\nHost: h\r\n\r\n";
    client.send(burst);
    server->run_until([&] { return service.wide > 0; });
    RawClient other(server->endpoint());
    for (int i = 0; i < 100; ++i) {  // iterations in which the first client could be served on
        other.send(kGet);
        other.read_response();
    }
    EXPECT_LT(service.wide, kAsked / 2);
    for (int i = 0; i < kAsked; ++i) ASSERT_GT(client.read_response().size(), 500'000u) << i;
    EXPECT_LT(service.most_queued, 1024u * 1024);
}

TEST_F(HttpServerTest, ConnectionsThatCameInOneBurstAreAllAccepted) {
    std::promise<void> release;
    server->thread.loop.post([&] { release.get_future().get(); });
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 300; ++i)
        clients.push_back(std::make_unique<RawClient>(server->endpoint()));
    release.set_value();
    for (auto& client : clients) client->send(kGet);
    for (auto& client : clients) ASSERT_TRUE(client->read_response().ends_with("/a?b=1"));
}

TEST_F(HttpServerTest, ServesAThousandConnectionsAndStopsWithThemOpen) {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 1000; ++i)
        clients.push_back(std::make_unique<RawClient>(server->endpoint()));
    for (auto& client : clients) client->send(kGet);
    for (auto& client : clients) EXPECT_TRUE(client->read_response().ends_with("/a?b=1"));
    EXPECT_EQ(server->connections(), 1000u);
    for (std::size_t i = 0; i < 100; ++i) clients[i]->send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    server->run_until([&] { return service.waiting == 100; });
    server->stop();
    EXPECT_EQ(service.cancelled, 100);
    for (auto& client : clients) client->read_to_end();
}

TEST_F(HttpServerTest, DrainingAnswersWhatRunsAndLetsTheRestGo) {
    RawClient idle(server->endpoint()), running(server->endpoint()), half(server->endpoint());
    idle.send(kGet);
    idle.read_response();
    running.send("GET /finish HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_a_request();
    half.send(
        "POST /half-sent HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    half.read_until("100 Continue\r\n\r\n");
    std::atomic<bool> drained = false;
    server->thread.run([&] { server->server->drain(10s, [&] { drained = true; }); });
    EXPECT_EQ(idle.read_to_end(), "");
    half.send("hi");
    const std::string last = half.read_to_end();
    EXPECT_TRUE(last.find("Connection: close\r\n") != std::string::npos && last.ends_with("hi"))
        << last;
    EXPECT_EQ(server->thread.run([&] { return server->server->running(); }), 1u);
    EXPECT_FALSE(drained);
    server->thread.run([&] { service.finish(); });
    EXPECT_TRUE(running.read_to_end().ends_with("Content-Length: 8\r\n\r\nfinished"));
    server->run_until([&] { return drained.load(); });
    EXPECT_EQ(server->thread.run([&] { return server->server->running(); }), 0u);
    const auto address = to_socket_address(server->endpoint());
    const int late = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_NE(::connect(late, address->data(), address->size), 0) << "somebody still listens";
    ::close(late);
}

TEST_F(HttpServerTest, DrainingEndsAfterItsLimit) {
    RawClient client(server->endpoint()), silent(server->endpoint());
    client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_a_request();
    std::atomic<bool> drained = false;
    server->thread.run([&] { server->server->drain(10s, [&] { drained = true; }); });
    server->thread.advance(clock, 9900ms);
    EXPECT_FALSE(drained);
    server->thread.advance(clock, 200ms);
    server->run_until([&] { return drained.load(); });
    EXPECT_EQ(service.cancelled, 0);
    server->stop();
    EXPECT_EQ(service.cancelled, 1);
}

TEST_F(HttpServerTest, DrainingAnIdleServerEndsAtOnce) {
    std::atomic<bool> drained = false;
    server->thread.run([&] { server->server->drain(10s, [&] { drained = true; }); });
    server->run_until([&] { return drained.load(); });
}

TEST(HttpServersTest, TwoLoopsShareAPortAndALimit) {
    const RealClock clock;
    EchoService service;
    LoopGroup loops(2, clock);
    loops.start();
    auto listener = Listener::bind(Endpoint::tcp("127.0.0.1", 0));
    ASSERT_TRUE(listener);
    HttpServerOptions options;
    options.count = std::make_shared<ConnectionCount>();
    std::vector<std::unique_ptr<HttpServer>> servers;
    for (std::size_t i = 0; i < 2; ++i)
        servers.push_back(std::make_unique<HttpServer>(loops.at(i), service, options));
    const auto on = [&](std::size_t i, std::function<void()> work) {
        std::promise<void> done;
        loops.at(i).post([&] { work(), done.set_value(); });
        done.get_future().get();
    };
    for (std::size_t i = 0; i < 2; ++i) on(i, [&] { ASSERT_TRUE(servers[i]->listen(**listener)); });
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
        callers.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                RawClient client((*listener)->endpoint());
                for (int j = 0; j < 20; ++j) {
                    client.send("POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
                    EXPECT_TRUE(client.read_response().ends_with("hi"));
                }
            }
        });
    }
    for (auto& caller : callers) caller.join();
    for (std::size_t i = 0; i < 2; ++i) {
        std::promise<void> stopped;
        on(i, [&] { servers[i]->stop([&] { stopped.set_value(); }); });
        stopped.get_future().get();
        on(i, [&] { servers[i].reset(); });
    }
    loops.stop_and_join();
    EXPECT_EQ(options.count->all, 0u);
}

TEST(ListenerTest, ReplacesADeadSocketFileButNotALivingOneOrAFile) {
    std::string directory = (std::filesystem::temp_directory_path() / "crab-net-XXXXXX").string();
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const Endpoint endpoint = Endpoint::unix_socket(directory + "/deeper/s");
    {
        auto living = Listener::bind(endpoint);
        ASSERT_TRUE(living);
        EXPECT_EQ(Listener::bind(endpoint).error().code, ErrorCode::kUnavailable);
    }
    EXPECT_FALSE(std::filesystem::exists(endpoint.path));
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        const auto address = to_socket_address(endpoint);
        ASSERT_EQ(::bind(fd, address->data(), address->size), 0);
        ::close(fd);
        EXPECT_TRUE(Listener::bind(endpoint));
    }
    std::ofstream(endpoint.path) << "precious";
    EXPECT_FALSE(Listener::bind(endpoint));
    std::filesystem::remove_all(directory);
}

TEST(ListenerTest, RefusesAPortThatIsTaken) {
    auto first = Listener::bind(Endpoint::tcp("127.0.0.1", 0));
    ASSERT_TRUE(first);
    const auto second = Listener::bind((*first)->endpoint());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
}

TEST(EndpointTest, ReadsBackWhatItWrites) {
    for (const char* text :
         {"127.0.0.1:80", "[::1]:8080", "unix:/run/crab.sock", "example.org:443"}) {
        EXPECT_EQ(parse_endpoint(text)->text(), text);
    }
    for (const char* text : {"", "host", ":80", "host:", "host:99999", "::1:80", "host:8o"})
        EXPECT_FALSE(parse_endpoint(text)) << text;
}

}  // namespace
}  // namespace crab::net
