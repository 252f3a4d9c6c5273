#include "net/http/blocking_client.hpp"
#include "net/http/dialer.hpp"

#include "base/task/spawn.hpp"
#include "base/task/task_group.hpp"
#include "base/task/waiter.hpp"
#include "net/http/test_support.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::ServerThread;

/// A self-signed certificate for `localhost` and 127.0.0.1 with its key, PEM.
struct Identity {
    std::string certificate;
    std::string key;
};

Identity make_identity() {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    const auto text = [](auto write) {
        BIO* const out = BIO_new(BIO_s_mem());
        write(out);
        char* at = nullptr;
        const long size = BIO_get_mem_data(out, &at);
        std::string pem(at, static_cast<std::size_t>(size));
        BIO_free(out);
        return pem;
    };
    Identity identity;
    identity.certificate = text([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
    identity.key = text([&](BIO* out) {
        PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
    return identity;
}

std::shared_ptr<TlsContext> server_tls(const Identity& identity,
                                       TlsContext::PeerCheck check = TlsContext::PeerCheck::kNone) {
    TlsContext::Options options;
    options.certificate.text = identity.certificate;
    options.key.text = identity.key;
    options.peer_check = check;
    if (check != TlsContext::PeerCheck::kNone) options.ca.text = identity.certificate;
    return *TlsContext::make(std::move(options));
}

std::shared_ptr<TlsContext> client_tls(
    const std::string& ca, TlsContext::PeerCheck check = TlsContext::PeerCheck::kChainAndName,
    const Identity& own = {}) {
    TlsContext::Options options;
    options.role = TlsContext::Role::kClient;
    options.peer_check = check;
    options.ca.text = ca;
    options.certificate.text = own.certificate;
    options.key.text = own.key;
    return *TlsContext::make(std::move(options));
}

class Echo : public WebSocketHandler {
    void on_text(WebSocketSession& session, std::span<char> text) override {
        session.send_text({text.data(), text.size()});
    }
    void on_closed(WebSocketSession&, const CloseInfo&) override {}
};

class Service : public HttpService {
public:
    Task<void> serve(HttpExchange& exchange) override {
        const HttpRequest& request = exchange.request();
        if (request.path() == "/stream") {
            exchange.start_stream(200, "text/event-stream");
            for (int i = 0; i < 3; ++i) {
                exchange.write_chunk(fmt::format("data: {}\n\n", i));
                co_await yield_to_loop();
            }
            exchange.end_stream();
        } else if (request.path() == "/wait") {
            Waiter for_ever(exchange.loop().timers());
            co_await for_ever.wait(kNoDeadline);
        } else if (request.path() == "/bulk") {
            exchange.respond(200, "text/plain", std::string(5'000'000, 'b'));
        } else if (request.path() == "/who") {
            exchange.respond(200, "text/plain",
                             request.certificate_der().empty() ? "nobody" : "somebody");
        } else {
            exchange.respond(200, "text/plain",
                             request.body.empty() ? request.target() : request.body);
        }
    }
    std::optional<Upgrade> upgrade(const HttpRequest& request,
                                   const WebSocketOffer& offer) override {
        if (request.path() == "/busy")
            return Refusal{.status = 429, .body = "{}", .headers = {{"Retry-After", "7"}}};
        AcceptUpgrade accepted;
        accepted.handler = std::make_shared<Echo>();
        accepted.allow_deflate = true;
        if (offer && offer->offers("v1")) accepted.subprotocol = "v1";
        return accepted;
    }
    RequestBodyLimits limits_for(const HttpRequest&) override {
        return {.max_bytes = 8 << 20, .timeout = 10s};
    }
};

class BlockingClientTest : public ::testing::Test {
protected:
    void use(HttpServerOptions options, bool unix_socket = false) {
        server.reset();
        server = std::make_unique<ServerThread>(clock, service, std::move(options), unix_socket);
    }
    const RealClock clock;
    Service service;
    std::unique_ptr<ServerThread> server = std::make_unique<ServerThread>(clock, service);
};

TEST_F(BlockingClientTest, KeepsItsConnectionBetweenRequests) {
    BlockingClient client(server->endpoint());
    for (int i = 0; i < 3; ++i) {
        const auto answer = client.send({.method = "POST",
                                         .target = "/x",
                                         .headers = {{"Content-Type", "text/plain"}},
                                         .body = "hello"});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->body, "hello");
        EXPECT_EQ(answer->find("content-type"), "text/plain");
    }
    EXPECT_EQ(server->connections(), 1u);
}

TEST_F(BlockingClientTest, AServerThatIsGoneIsUnavailable) {
    BlockingClient client(server->endpoint());
    ASSERT_TRUE(client.send({}));
    server->thread.run([&] { server->server->stop([] {}); });
    server->run_until([&] { return server->server->connections() == 0; });
    EXPECT_EQ(client.send({}).error().code, ErrorCode::kUnavailable);
}

TEST_F(BlockingClientTest, SpeaksOverUnixSockets) {
    use({}, true);
    BlockingClient client(server->endpoint());
    EXPECT_EQ(client.send({.target = "/there"})->body, "/there");
}

TEST_F(BlockingClientTest, StreamsABodyAndMayStopInTheMiddle) {
    BlockingClient client(server->endpoint());
    std::string events;
    auto answer = client.send({.target = "/stream"}, kNoDeadline,
                              [&](std::string_view part) { return events += part, true; });
    ASSERT_TRUE(answer);
    EXPECT_EQ(events, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
    answer = client.send({.target = "/bulk"}, kNoDeadline, [&](std::string_view) { return false; });
    ASSERT_TRUE(answer);
    EXPECT_EQ(client.send({.target = "/again"})->body, "/again");
}

TEST_F(BlockingClientTest, DeadlinesAndSizesHold) {
    BlockingClient client(server->endpoint());
    EXPECT_EQ(
        client.send({.target = "/wait"}, std::chrono::steady_clock::now() + 30ms).error().code,
        ErrorCode::kTimeout);
    BlockingClient small(server->endpoint(), {.max_body_bytes = 1000});
    EXPECT_EQ(small.send({.target = "/bulk"}).error().code, ErrorCode::kOversize);
    EXPECT_EQ(small.send({.target = "/a b"}).error().code, ErrorCode::kInvalidArgs);
}

TEST_F(BlockingClientTest, NobodyThereIsUnavailable) {
    EXPECT_EQ(BlockingClient(Endpoint::unix_socket("/nonexistent/socket")).send({}).error().code,
              ErrorCode::kUnavailable);
    auto listener = Listener::bind(Endpoint::tcp("127.0.0.1", 0));
    const Endpoint free_port = (*listener)->endpoint();
    listener->reset();
    EXPECT_EQ(BlockingClient(free_port).send({}).error().code, ErrorCode::kUnavailable);
}

TEST_F(BlockingClientTest, TlsChecksCertificateAndName) {
    const Identity identity = make_identity();
    HttpServerOptions options;
    options.tls = server_tls(identity);
    use(std::move(options));
    {
        BlockingClient good(server->endpoint(), {.tls = client_tls(identity.certificate)});
        const std::string body(3'000'000, 't');
        for (int i = 0; i < 2; ++i) {
            const auto answer =
                good.send({.method = "POST", .target = "/x", .headers = {}, .body = body});
            ASSERT_TRUE(answer) << answer.error().message;
            EXPECT_EQ(answer->body, body);
        }
        EXPECT_EQ(good.send({.target = "/who"})->body, "nobody");
    }
    BlockingClient stranger(server->endpoint(), {.tls = client_tls(make_identity().certificate)});
    EXPECT_EQ(stranger.send({}).error().code, ErrorCode::kForbidden);
    BlockingClient wrong_name(server->endpoint(), {.tls = client_tls(identity.certificate),
                                                   .server_name = "example.org"});
    EXPECT_EQ(wrong_name.send({}).error().code, ErrorCode::kForbidden);
    BlockingClient judge(server->endpoint(),
                         {.tls = client_tls({}, TlsContext::PeerCheck::kAcceptAny)});
    EXPECT_TRUE(judge.send({}));
    BlockingClient plain(server->endpoint());
    EXPECT_FALSE(plain.send({}));
}

TEST_F(BlockingClientTest, TlsServersMayDemandACertificate) {
    const Identity identity = make_identity();
    HttpServerOptions options;
    options.tls = server_tls(identity, TlsContext::PeerCheck::kChain);
    use(std::move(options));
    BlockingClient known(
        server->endpoint(),
        {.tls = client_tls(identity.certificate, TlsContext::PeerCheck::kChainAndName, identity)});
    const auto answer = known.send({.target = "/who"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "somebody");
    BlockingClient nobody(server->endpoint(), {.tls = client_tls(identity.certificate)});
    EXPECT_FALSE(nobody.send({}));
    BlockingClient other(
        server->endpoint(),
        {.tls = client_tls(identity.certificate, TlsContext::PeerCheck::kChainAndName,
                           make_identity())});
    EXPECT_FALSE(other.send({}));
}

TEST_F(BlockingClientTest, HandshakesThatNeverEndLeaveNoPlaceTaken) {
    const Identity identity = make_identity();
    HttpServerOptions options;
    options.max_connections = 8;
    options.count = std::make_shared<ConnectionCount>();
    options.tls = server_tls(identity);
    const auto count = options.count;
    use(std::move(options));
    constexpr std::string_view kHalfHello("\x16\x03\x01\x02\x00\x01\x00", 7);
    // more than there are places, and than are told that there are too many
    for (int i = 0; i < 400; ++i) {
        test::RawClient client(server->endpoint());
        if (i % 4 == 1) client.send(kHalfHello);
        if (i % 4 == 2) client.send("GET / HTTP/1.1\r\n\r\n");
        if (i % 4 == 3) client.reset();
    }
    // a connection being accepted is counted before it is a connection
    const auto all_gone = [&] { return server->server->connections() == 0 && count->all == 0; };
    server->run_until(all_gone);
    {
        // and while as many are held as one address may
        std::vector<std::unique_ptr<test::RawClient>> held;
        for (int i = 0; i < 100; ++i)
            held.push_back(std::make_unique<test::RawClient>(server->endpoint()));
        BlockingClient client(server->endpoint(), {.tls = client_tls(identity.certificate)});
        const auto answer = client.send({.target = "/who"});
        EXPECT_TRUE(answer) << answer.error().message;
    }
    server->run_until(all_gone);
}

TEST_F(BlockingClientTest, AServerStopsInTheMiddleOfHandshakes) {
    HttpServerOptions options;
    options.tls = server_tls(make_identity());
    use(std::move(options));
    test::RawClient silent(server->endpoint());
    server->run_until([&] { return server->server->connections() == 1; });
    server->stop();
    EXPECT_EQ(silent.read_to_end(), "");
}

TEST_F(BlockingClientTest, InterimAnswersAreBounded) {
    const auto answer_with = [](std::string answer) {
        auto listener = std::move(*Listener::bind(Endpoint::tcp("127.0.0.1", 0)));
        const int accepting = *listener->descriptor();
        std::thread serving([accepting, answer = std::move(answer)] {
            pollfd waiting{accepting, POLLIN, 0};
            ::poll(&waiting, 1, test::kPatienceMs);
            const int fd = ::accept(accepting, nullptr, nullptr);
            (void)!::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
            ::close(fd);
            ::close(accepting);
        });
        BlockingClient client(listener->endpoint());
        auto answered = client.send({.target = "/"});
        serving.join();
        return answered;
    };
    const auto interim = [](int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        return text;
    };
    const std::string last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const auto few = answer_with(interim(8) + last);
    ASSERT_TRUE(few) << few.error().message;
    EXPECT_EQ(few->body, "ok");
    EXPECT_EQ(answer_with(interim(9) + last).error().code, ErrorCode::kInternal);
    EXPECT_EQ(answer_with(interim(20'000)).error().code, ErrorCode::kInternal);
}

TEST(TlsContextTest, SaysWhichPartCannotBeUsed) {
    const Identity identity = make_identity();
    TlsContext::Options options;
    options.certificate.text = identity.certificate;
    options.key.text = make_identity().key;
    EXPECT_NE(TlsContext::make(options).error().message.find("key"), std::string::npos);
    options.certificate.text = "nonsense";
    EXPECT_NE(TlsContext::make(options).error().message.find("certificate"), std::string::npos);
    options.certificate.file = "/nonexistent";
    EXPECT_EQ(TlsContext::make(options).error().message.find("/nonexistent"), std::string::npos);
}

/// Collects what a client session hears.
class Listening : public WebSocketHandler {
public:
    void on_open(WebSocketSession& session) override { session.send_text(first); }
    void on_text(WebSocketSession& session, std::span<char> text) override {
        heard.assign(text.data(), text.size());
        session.close(1000, "done");
    }
    void on_closed(WebSocketSession&, const CloseInfo& info) override {
        end = info;
        over.set_value();
    }
    std::string first = "hello";
    std::string heard;
    CloseInfo end;
    std::promise<void> over;
};

class DialerTest : public BlockingClientTest {
protected:
    Result<WebSocketLink> connect(WebSocketTarget target,
                                  const std::shared_ptr<WebSocketHandler>& handler,
                                  Milliseconds within = 10'000ms) {
        std::promise<Result<WebSocketLink>> result;
        EventLoop& loop = server->thread.loop;
        loop.post([&] {
            spawn(loop.executor(),
                  websocket_connect(loop, std::move(target), handler, loop.now() + within),
                  [&](const std::exception_ptr&, std::optional<Result<WebSocketLink>> link) {
                      result.set_value(std::move(*link));
                  });
        });
        return result.get_future().get();
    }
    WebSocketTarget target() {
        WebSocketTarget made;
        made.server.addresses = {*to_socket_address(server->endpoint())};
        made.host = "h";
        return made;
    }
};

TEST_F(DialerTest, AClientSessionTalksAndCloses) {
    for (const bool deflate : {false, true}) {
        const auto listening = std::make_shared<Listening>();
        listening->first = std::string(50'000, 'm');
        WebSocketTarget to = target();
        to.subprotocols = {"v0", "v1"};
        to.offer_deflate = deflate;
        const auto link = connect(std::move(to), listening);
        ASSERT_TRUE(link) << link.error().message;
        EXPECT_EQ(link->subprotocol, "v1");
        listening->over.get_future().get();
        EXPECT_EQ(listening->heard, listening->first);
        EXPECT_EQ(listening->end.code, 1000);
        EXPECT_TRUE(listening->end.clean);
        EXPECT_FALSE(listening->end.peer_initiated);
    }
}

TEST_F(DialerTest, TlsLinksWorkAndBadCertificatesAreForbidden) {
    const Identity identity = make_identity();
    HttpServerOptions options;
    options.tls = server_tls(identity);
    use(std::move(options));
    WebSocketTarget to = target();
    to.server.tls = client_tls(identity.certificate);
    to.server.server_name = "localhost";
    const auto listening = std::make_shared<Listening>();
    const auto link = connect(to, listening);
    ASSERT_TRUE(link) << link.error().message;
    listening->over.get_future().get();
    EXPECT_EQ(listening->heard, "hello");
    to.server.server_name = "elsewhere";
    EXPECT_EQ(connect(to, std::make_shared<Listening>()).error().code, ErrorCode::kForbidden);
}

TEST_F(DialerTest, RefusalsAndSilenceHaveTheirErrors) {
    WebSocketTarget to = target();
    to.target = "/busy";
    const auto busy = connect(to, std::make_shared<Listening>());
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(busy.error().details, "{\"status\":429}");
    EXPECT_EQ(busy.error().retry_after, 7s);
    auto listener = Listener::bind(Endpoint::tcp("127.0.0.1", 0));
    // connects, and nobody ever accepts
    to.server.addresses = {*to_socket_address((*listener)->endpoint())};
    EXPECT_EQ(connect(to, std::make_shared<Listening>(), 30ms).error().code, ErrorCode::kTimeout);
    listener->reset();
    EXPECT_EQ(connect(to, std::make_shared<Listening>()).error().code, ErrorCode::kUnavailable);
    to.host = "bad\r\nhost";
    to.server.addresses = target().server.addresses;
    EXPECT_EQ(connect(to, std::make_shared<Listening>()).error().code, ErrorCode::kInvalidArgs);
}

}  // namespace
}  // namespace crab::net
