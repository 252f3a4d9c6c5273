#include "net/http/http_client.hpp"

#include "net/codec/http_date.hpp"

#include "base/task/spawn.hpp"
#include "crypto/certificate_authority.hpp"
#include "net/http/test_support.hpp"

#include <atomic>
#include <functional>

#include <netinet/in.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::LoopThread;
using test::ServerThread;

constexpr std::size_t kLarge = 4'000'000;

class Service : public HttpService {
public:
    Task<void> serve(HttpExchange& exchange) override {
        ++served;
        const std::string_view path = exchange.request().path();
        if (path == "/wait") {
            Waiter for_ever(exchange.loop().timers());
            co_await for_ever.wait(kNoDeadline);
        } else if (path == "/stream") {
            exchange.start_stream(200, "text/plain");
            for (int i = 0; i < 3; ++i) {
                exchange.write_chunk("piece ");
                co_await yield_to_loop();
            }
            exchange.end_stream();
        } else if (path == "/begin-and-wait") {
            exchange.start_stream(200, "text/plain");
            exchange.write_chunk("piece ");
            Waiter for_ever(exchange.loop().timers());
            co_await for_ever.wait(kNoDeadline);
        } else if (path == "/away") {
            exchange.respond(302, "text/plain", "", {{"Location", "/elsewhere"}});
        } else if (path == "/large") {
            exchange.respond(200, "text/plain", std::string(kLarge, 'x'));
        } else if (path == "/busy") {
            exchange.respond(503, "text/plain", "later", {{"Retry-After", "7"}});
        } else {
            if (path == "/slow") co_await yield_to_loop();
            exchange.respond(200, "text/plain",
                             exchange.request().body.empty() ? path : exchange.request().body);
        }
    }
    std::atomic<int> served = 0;
};

/// A server by hand: takes connections one after the other, reads a request's head on each and
/// answers with the next text.
class ScriptedServer {
public:
    explicit ScriptedServer(std::vector<std::string> answers) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        SocketAddress address = *to_socket_address(Endpoint::tcp("127.0.0.1", 0));
        auto* const raw = reinterpret_cast<sockaddr*>(&address.storage);
        EXPECT_EQ(::bind(fd, raw, address.size), 0);
        EXPECT_EQ(::listen(fd, 8), 0);
        EXPECT_EQ(::getsockname(fd, raw, &address.size), 0);
        endpoint_ =
            Endpoint::tcp("127.0.0.1", ntohs(reinterpret_cast<sockaddr_in*>(raw)->sin_port));
        thread_ = std::thread([fd, answers = std::move(answers)] {
            for (const std::string& answer : answers) {
                pollfd waiting{fd, POLLIN, 0};
                if (::poll(&waiting, 1, test::kPatienceMs) != 1) break;
                const int peer = ::accept(fd, nullptr, nullptr);
                std::string request;
                char space[4096];
                while (request.find("\r\n\r\n") == std::string::npos) {
                    const ssize_t count = ::read(peer, space, sizeof space);
                    if (count <= 0) break;
                    request.append(space, static_cast<std::size_t>(count));
                }
                (void)!::write(peer, answer.data(), answer.size());
                ::shutdown(peer, SHUT_WR);
                while (::read(peer, space, sizeof space) > 0) {}
                ::close(peer);
            }
            ::close(fd);
        });
    }
    ~ScriptedServer() { thread_.join(); }
    const Endpoint& endpoint() const { return endpoint_; }

private:
    Endpoint endpoint_;
    std::thread thread_;
};

/// Takes bodies with status 200, as many pieces as it is told, and waits so long for the next.
class Pieces final : public HttpBodySink {
public:
    bool takes(const HttpReply& head) override { return head.status == 200; }
    bool on_body(std::string_view piece) override {
        text += piece;
        return text.size() < enough;
    }
    Milliseconds patience() const override { return text.empty() ? silence : later_silence; }

    std::string text;
    std::size_t enough = 1'000;
    Milliseconds silence{20'000};
    Milliseconds later_silence{20'000};  ///< once something has come
};

/// Takes a body until it pauses for the first time, and then until the test lets it go on.
class PausesOnce final : public HttpBodySink {
public:
    bool takes(const HttpReply&) override { return true; }
    bool on_body(std::string_view piece) override {
        size += piece.size();
        return true;
    }
    bool pauses(const std::function<void()>& resume) override {
        if (go_on) return false;
        go_on = resume;
        paused.set_value(size);
        return true;
    }
    Milliseconds patience() const override { return 20'000ms; }

    std::size_t size = 0;
    std::function<void()> go_on;
    std::promise<std::size_t> paused;  ///< how much had come by then
};

class HttpClientTest : public ::testing::Test {
protected:
    ~HttpClientTest() override {
        if (client) loop.run([&] { client->close(); });
    }
    void talk_to(const Endpoint& endpoint, HttpClientOptions options = {},
                 std::shared_ptr<TlsContext> tls = nullptr) {
        if (client) loop.run([&] { client->close(); });
        HttpAuthority authority;
        authority.server.addresses = {*to_socket_address(endpoint)};
        authority.server.tls = std::move(tls);
        client = std::make_unique<HttpClient>(loop.loop, std::move(authority), options);
    }
    /// Begins a request on the client's loop; `signal`, if given, cancels it.
    std::future<HttpResult> begin(std::string target, Milliseconds within = 20'000ms,
                                  CancelSignal* signal = nullptr, HttpBodySink* sink = nullptr) {
        auto promise = std::make_shared<std::promise<HttpResult>>();
        auto future = promise->get_future();
        loop.run([&] {
            spawn(
                loop.loop.executor(),
                request(client.get(), std::move(target), loop.loop.now() + within, sink),
                [promise](const std::exception_ptr&, std::optional<HttpResult> result) {
                    promise->set_value(std::move(*result));
                },
                signal);
        });
        return future;
    }
    HttpResult get(std::string target, Milliseconds within = 20'000ms) {
        return begin(std::move(target), within).get();
    }
    static Task<HttpResult> request(HttpClient* client, std::string target, Deadline deadline,
                                    HttpBodySink* sink) {
        const HttpCall call{.method = "GET",
                            .target = target,
                            .content_type = {},
                            .body = {},
                            .headers = {},
                            .sink = sink};
        co_return co_await client->send(call, deadline);
    }

    const RealClock clock;
    Service service;
    std::unique_ptr<ServerThread> server =
        std::make_unique<ServerThread>(clock, service, HttpServerOptions(), true);
    LoopThread loop{clock};
    std::unique_ptr<HttpClient> client;
};

TEST_F(HttpClientTest, ManyRequestsShareAFewKeptConnections) {
    talk_to(server->endpoint(), {.max_connections = 2});
    std::vector<std::future<HttpResult>> answers;
    for (int i = 0; i < 20; ++i) answers.push_back(begin("/slow"));
    for (auto& answer : answers) EXPECT_EQ(answer.get().value().body, "/slow");
    EXPECT_EQ(server->connections(), 2u);
    EXPECT_EQ(loop.run([&] { return client->connections(); }), 2u);
}

TEST_F(HttpClientTest, ARequestBeyondTheQueueIsRefusedUnsent) {
    talk_to(server->endpoint(), {.max_connections = 1, .max_waiting = 1});
    CancelSignal first_signal, second_signal;
    auto first = begin("/wait", 20'000ms, &first_signal);
    auto second = begin("/wait", 20'000ms, &second_signal);
    const HttpResult refused = get("/");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.code, ErrorCode::kRateLimited);
    EXPECT_FALSE(refused.error().written);
    loop.run([&] { second_signal.emit(); });
    EXPECT_EQ(second.get().error().error.code, ErrorCode::kCancelled);
    loop.run([&] { first_signal.emit(); });
    EXPECT_EQ(first.get().error().error.code, ErrorCode::kCancelled);
    EXPECT_EQ(get("/").value().status, 200);  // the place is free again
}

TEST_F(HttpClientTest, RedirectsAndRefusalsAreAnswers) {
    talk_to(server->endpoint());
    EXPECT_EQ(get("/away").value().status, 302);
    const HttpResult busy = get("/busy");
    EXPECT_EQ(busy.value().status, 503);
    EXPECT_EQ(busy->retry_after({}), 7s);
    EXPECT_EQ(service.served, 2);
}

TEST(HttpReply, ADateToRetryAfterCountsFromTheAnswersOwn) {
    HttpReply reply{.status = 503,
                    .headers = {{"Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"},
                                {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}},
                    .body = {}};
    const SystemTime now = parse_http_date("Sun, 06 Nov 1994 08:49:00 GMT").value();
    EXPECT_EQ(reply.retry_after(now), 30s);
    reply.headers[0].second = "Sun, 06 Nov 1994 08:00:00 GMT";
    EXPECT_EQ(reply.retry_after(now), 0s);
    reply.headers[0].second = "Sun, 06 Nov 2094 08:00:00 GMT";
    EXPECT_EQ(reply.retry_after(now), 24h);
    reply.headers = {{"Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"}};
    EXPECT_EQ(reply.retry_after(now), 67s) << "without one from our own clock";
    for (const char* wrong : {"soon", "-1", "1.5", "99999999999 s", ""}) {
        reply.headers[0].second = wrong;
        EXPECT_EQ(reply.retry_after(now), std::nullopt) << wrong;
    }
    reply.headers[0].second = "99999999999999999999";
    EXPECT_EQ(reply.retry_after(now), 24h) << "more than a number holds is long, not nothing";
}

TEST_F(HttpClientTest, ASinkTakesTheBodyAsItComesAndTheConnectionIsKept) {
    talk_to(server->endpoint(), {.max_connections = 1});
    for (int i = 0; i < 2; ++i) {
        Pieces pieces;
        const HttpResult result = begin("/stream", 20'000ms, nullptr, &pieces).get();
        ASSERT_TRUE(result);
        EXPECT_EQ(pieces.text, "piece piece piece ");
        EXPECT_EQ(result->body, "");
    }
    EXPECT_EQ(server->connections(), 1u);
}

TEST_F(HttpClientTest, APausedSinkHoldsTheRestBackUntilItGoesOn) {
    talk_to(server->endpoint());
    PausesOnce sink;
    auto answer = begin("/large", 20'000ms, nullptr, &sink);
    EXPECT_LT(sink.paused.get_future().get(), kLarge / 2);
    for (int i = 0; i < 3; ++i) loop.run([] {});  // what arrives now is for later
    EXPECT_LT(loop.run([&] { return sink.size; }), kLarge / 2);
    loop.run([&] { sink.go_on(); });
    EXPECT_TRUE(answer.get());
    EXPECT_EQ(sink.size, kLarge);
}

TEST_F(HttpClientTest, ABodyThatTheSinkDoesNotTakeIsCollected) {
    talk_to(server->endpoint());
    Pieces pieces;
    EXPECT_EQ(begin("/busy", 20'000ms, nullptr, &pieces).get().value().body, "later");
    EXPECT_EQ(pieces.text, "");
}

TEST_F(HttpClientTest, ASinkMayHaveEnough) {
    talk_to(server->endpoint());
    Pieces pieces;
    pieces.enough = 1;
    EXPECT_EQ(begin("/begin-and-wait", 20'000ms, nullptr, &pieces).get().error().error.code,
              ErrorCode::kCancelled);
    EXPECT_EQ(pieces.text, "piece ");
    EXPECT_EQ(get("/next").value().body, "/next");
}

TEST_F(HttpClientTest, AStreamThatFallsSilentIsATimeoutLongBeforeTheDeadline) {
    talk_to(server->endpoint());
    Pieces pieces;
    pieces.silence = pieces.later_silence = 30ms;
    const HttpResult result = begin("/begin-and-wait", 20'000ms, nullptr, &pieces).get();
    EXPECT_EQ(result.error().error.code, ErrorCode::kTimeout);
    EXPECT_EQ(pieces.text, "piece ");
}

TEST_F(HttpClientTest, ASinkMayLosePatienceWithEachPiece) {
    talk_to(server->endpoint());
    Pieces pieces;
    pieces.later_silence = 30ms;
    const auto began = std::chrono::steady_clock::now();
    const HttpResult result = begin("/begin-and-wait", 20'000ms, nullptr, &pieces).get();
    EXPECT_EQ(result.error().error.code, ErrorCode::kTimeout);
    EXPECT_EQ(pieces.text, "piece ");
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST_F(HttpClientTest, NobodyThereIsUnavailableAndUnsent) {
    talk_to(Endpoint::unix_socket("/nonexistent/socket"));
    const HttpResult result = get("/");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error.code, ErrorCode::kUnavailable);
    EXPECT_FALSE(result.error().written);
    EXPECT_EQ(loop.run([&] { return client->connections(); }), 0u);
}

TEST_F(HttpClientTest, APassedDeadlineClosesTheConnectionAndSaysThatTheRequestWentOut) {
    talk_to(server->endpoint(), {.max_connections = 1});
    const HttpResult result = get("/wait", 30ms);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error.code, ErrorCode::kTimeout);
    EXPECT_TRUE(result.error().written);
    EXPECT_EQ(get("/next").value().body, "/next");
}

TEST_F(HttpClientTest, WhatComesBackBrokenIsAFailureOfTheRightKind) {
    ScriptedServer scripted({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                             "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", "SSH-2.0-x\r\n\r\n",
                             "HTTP/1.1 200 OK\r\n\r\nuntil the end",
                             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", ""});
    talk_to(scripted.endpoint(), {.max_body_bytes = 100});
    const auto code = [](const HttpResult& result) { return result.error().error.code; };
    const HttpResult half = get("/");
    EXPECT_EQ(code(half), ErrorCode::kUnavailable);
    EXPECT_TRUE(half.error().written);
    EXPECT_EQ(code(get("/")), ErrorCode::kOversize);
    EXPECT_EQ(code(get("/")), ErrorCode::kInternal);
    EXPECT_EQ(get("/").value().body, "until the end");
    EXPECT_EQ(get("/").value().status, 204);
    EXPECT_EQ(code(get("/")), ErrorCode::kUnavailable);
}

TEST_F(HttpClientTest, AConnectionThatTheServerClosedMeanwhileIsNotUsedAgain) {
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    ScriptedServer scripted({answer, answer, answer});
    talk_to(scripted.endpoint());
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(get("/").value().body, "ok");
        const auto patience =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kPatienceMs);
        for (std::size_t left = 1; left != 0 && std::chrono::steady_clock::now() < patience;) {
            loop.run([&] { left = client->connections(); });
            std::this_thread::yield();
        }
    }
}

TEST_F(HttpClientTest, ARetiredConnectionCarriesNoOtherRequest) {
    talk_to(server->endpoint());
    EXPECT_EQ(get("/a").value().body, "/a");
    loop.run([&] {
        EXPECT_EQ(client->connections(), 1u);
        client->retire();
        EXPECT_EQ(client->connections(), 0u);
    });
    EXPECT_EQ(get("/b").value().body, "/b");
}

TEST_F(HttpClientTest, AbortEndsARequestThatIsUnderWayAsIfTheLinkWereLost) {
    talk_to(server->endpoint());
    auto waiting = begin("/wait");
    const auto patience =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kPatienceMs);
    while (service.served == 0 && std::chrono::steady_clock::now() < patience)
        std::this_thread::yield();
    loop.run([&] { client->abort(); });
    const HttpResult lost = waiting.get();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().error.code, ErrorCode::kUnavailable);
    EXPECT_TRUE(lost.error().written);
    EXPECT_EQ(get("/b").value().body, "/b");
}

TEST_F(HttpClientTest, WhereToDialIsAskedBeforeEveryConnectionAndNoIsTheAnswer) {
    HttpAuthority authority;
    int asked = 0;
    authority.find_server = [&](Deadline) -> Task<Result<DialTarget>> {
        ++asked;
        co_return fail(ErrorCode::kPairingRequired, "not paired");
    };
    client = std::make_unique<HttpClient>(loop.loop, std::move(authority));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(get("/").error().error.code, ErrorCode::kPairingRequired);
    EXPECT_EQ(asked, 2);
}

TEST_F(HttpClientTest, ACertificateIsJudgedBeforeAByteOfTheRequestIsWritten) {
    const auto key = crypto::PrivateKey::generate_p256();
    const auto certificate =
        crypto::make_self_signed(key, {.common_name = "host", .names = {}}, clock.system_now(), 1h);
    TlsContext::Options server_side;
    server_side.certificate.text = certificate.to_pem();
    server_side.key.text = key.to_pem().reveal();
    HttpServerOptions options;
    options.tls = *TlsContext::make(std::move(server_side));
    server = std::make_unique<ServerThread>(clock, service, std::move(options));
    TlsContext::Options client_side;
    client_side.role = TlsContext::Role::kClient;
    client_side.peer_check = TlsContext::PeerCheck::kAcceptAny;
    HttpAuthority authority;
    authority.server.addresses = {*to_socket_address(server->endpoint())};
    authority.server.tls = *TlsContext::make(std::move(client_side));
    std::string pin = "sha256:another";
    authority.check_certificate = [&](std::string der) -> Task<Result<void>> {
        const auto shown = crypto::Certificate::from_der(der);
        if (shown && crypto::same_fingerprint(shown->fingerprint(), pin)) co_return Result<void>();
        co_return fail(ErrorCode::kForbidden, "the certificate is not the pinned one");
    };
    client = std::make_unique<HttpClient>(loop.loop, std::move(authority));
    const HttpResult refused = get("/");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.code, ErrorCode::kForbidden);
    EXPECT_FALSE(refused.error().written);
    pin = certificate.fingerprint();
    EXPECT_EQ(get("/pinned").value().body, "/pinned");
    EXPECT_EQ(service.served, 1);
}

}  // namespace
}  // namespace crab::net
