#include "net/websocket/websocket_session.hpp"

#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::ServerThread;

constexpr std::size_t kWide = 240'000;

/// What handlers notice of a connection's output, read by the test's thread.
struct Output {
    std::atomic<int> heard = 0;
    std::atomic<std::size_t> most_queued = 0;
    std::weak_ptr<WebSocketSession> wide;  // the one that was asked for much; on the loop
};

/// Repeats what it hears; writes down what happens.
class EchoHandler : public WebSocketHandler {
public:
    EchoHandler(Output& output, std::function<void(const CloseInfo&)> on_end)
        : output_(output), on_end_(std::move(on_end)) {}
    void on_open(WebSocketSession& session) override { session.send_text("welcome"); }
    void on_text(WebSocketSession& session, std::span<char> text) override {
        const std::string_view said(text.data(), text.size());
        // must be readable
        for (std::size_t i = 0; i < EventLoop::kSlack; ++i) slack_ ^= said.data()[said.size() + i];
        if (said == "flood") {
            const std::string chunk(64 * 1024, 'f');
            for (int i = 0; i < 256; ++i) {
                session.send_text(chunk);
                output_.most_queued = std::max(output_.most_queued.load(), session.queued_bytes());
            }
        } else if (said == "wide") {
            session.send_text(std::string(kWide, 'w'));
            output_.wide = session.weak_from_this();
            output_.heard += 1;
            output_.most_queued = std::max(output_.most_queued.load(), session.queued_bytes());
        } else if (said.starts_with("close")) {
            session.close(1000, "as you wish");
        } else if (said == "abort") {
            session.abort();
        } else if (said == "pause") {
            session.pause_reading();
            session.send_text("paused");
            asio::post(session.loop().executor(),
                       [kept = session.shared_from_this()] { kept->resume_reading(); });
        } else {
            session.begin_text() += said;
            session.end_text();
        }
    }
    void on_binary(WebSocketSession& session, std::span<char> bytes) override {
        session.send_text(fmt::format("{} bytes", bytes.size()));
    }
    void on_closed(WebSocketSession& session, const CloseInfo& info) override {
        EXPECT_FALSE(session.is_open());
        session.send_text("into the void");
        session.begin_text() += "void";
        session.end_text();
        on_end_(info);
    }

private:
    Output& output_;
    std::function<void(const CloseInfo&)> on_end_;
    char slack_ = 0;
};

class ChatService : public HttpService {
public:
    Task<void> serve(HttpExchange& exchange) override {
        exchange.respond_error(exchange.request().path() == "/ws" ? 426 : 404, "NOT_FOUND",
                               "no such path");
        co_return;
    }
    std::optional<Upgrade> upgrade(const HttpRequest& request,
                                   const WebSocketOffer& offer) override {
        if (request.path() != "/ws") return std::nullopt;
        if (request.find("authorization") == "Bearer bad")
            return Refusal{.status = 401,
                           .body = R"({"error":"bad token","code":"UNAUTHENTICATED"})"};
        AcceptUpgrade accepted;
        if (offer && offer->offers("clawseed.v1")) accepted.subprotocol = "clawseed.v1";
        accepted.allow_deflate = request.query() == "deflate";
        accepted.headers = {{"X-Extra", "1"}};
        accepted.options = options;
        accepted.handler = std::make_shared<EchoHandler>(output, [this](const CloseInfo& info) {
            const std::lock_guard lock(mutex);
            ends.push_back(info);
        });
        return accepted;
    }
    CloseInfo last_end() {
        const std::lock_guard lock(mutex);
        return ends.empty() ? CloseInfo{.code = 0} : ends.back();
    }

    bool has_ended_with(std::uint16_t code) {
        const std::lock_guard lock(mutex);
        return std::ranges::find(ends, code, &CloseInfo::code) != ends.end();
    }

    WebSocketOptions options;
    Output output;
    std::mutex mutex;
    std::vector<CloseInfo> ends;
};

/// A raw client that speaks frames.
class FrameClient : public RawClient {
public:
    explicit FrameClient(const Endpoint& endpoint, std::string_view target = "/ws",
                         std::string_view more = {}, int receive_buffer = 0)
        : RawClient(endpoint, receive_buffer) {
        send(fmt::format(
            "GET {} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{}\r\n",
            target, more));
    }
    std::string handshake() { return read_until("\r\n\r\n"); }
    void send_frame(Opcode opcode, std::string_view payload) {
        std::string frame;
        append_frame(frame, opcode, payload, 0x12345678u);
        send(frame);
    }
    void send_close(std::uint16_t code, std::string_view reason) {
        std::string frame;
        append_close(frame, code, reason, 0x01020304u);
        send(frame);
    }
    /// The next frame: opcode and first-byte flags, and payload.
    std::pair<int, std::string> read_frame() {
        const std::string start = read_bytes(2);
        if (start.size() < 2) return {-1, {}};
        std::size_t size = static_cast<unsigned char>(start[1]);
        if (size >= 126) {
            const std::string length = read_bytes(size == 126 ? 2 : 8);
            size = 0;
            for (const char c : length) size = size << 8 | static_cast<unsigned char>(c);
        }
        return {static_cast<unsigned char>(start[0]), read_bytes(size)};
    }
    std::string read_text() {
        const auto [first, payload] = read_frame();
        EXPECT_EQ(first, 0x81);
        return payload;
    }
    /// Code and reason of a close frame.
    std::string read_close() {
        const auto [first, payload] = read_frame();
        EXPECT_EQ(first, 0x88);
        if (payload.size() < 2) return "none";
        return fmt::format(
            "{} {}",
            static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]),
            payload.substr(2));
    }
};

class WebSocketSessionTest : public ::testing::Test {
protected:
    void wait_for_end() {
        server.run_until(
            [&] { return service.last_end().code != 0 && server.server->connections() == 0; });
        EXPECT_EQ(service.ends.size(), 1u);
    }
    FakeClock clock;
    ChatService service;
    ServerThread server{clock, service};
};

TEST_F(WebSocketSessionTest, UpgradesAndEchoesWhatCameWithTheHandshake) {
    FrameClient client(server.endpoint(), "/ws",
                       "Sec-WebSocket-Protocol: bearer.x, clawseed.v1\r\n");
    client.send_frame(Opcode::kText, "early");
    const std::string head = client.handshake();
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
    EXPECT_NE(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
    EXPECT_NE(head.find("Sec-WebSocket-Protocol: clawseed.v1\r\n"), std::string::npos);
    EXPECT_NE(head.find("X-Extra: 1\r\n"), std::string::npos);
    EXPECT_EQ(client.read_text(), "welcome");
    EXPECT_EQ(client.read_text(), "early");
    for (const std::size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u, 1'000'000u}) {
        const std::string text(size, 'x');
        client.send_frame(Opcode::kText, text);
        EXPECT_EQ(client.read_text(), text);
    }
    client.send_frame(Opcode::kBinary, "\x01\x02");
    EXPECT_EQ(client.read_text(), "2 bytes");
}

TEST_F(WebSocketSessionTest, UpgradesAfterOrdinaryRequestsOnTheSameConnection) {
    RawClient client(server.endpoint());
    client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 404 "));
    client.send(
        "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    EXPECT_TRUE(client.read_until("welcome").starts_with("HTTP/1.1 101 "));
}

TEST_F(WebSocketSessionTest, RefusalsHaveTheirStatusAndAJsonBody) {
    const auto answer_to = [&](std::string_view target, std::string_view head) {
        RawClient client(server.endpoint());
        client.send(fmt::format(
            "GET {} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{}\r\n",
            target, head));
        return client.read_response();
    };
    const std::string good =
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    const std::string refused = answer_to("/ws", good + "Authorization: Bearer bad\r\n");
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 401 ")) << refused;
    EXPECT_TRUE(refused.ends_with("\"code\":\"UNAUTHENTICATED\"}")) << refused;
    EXPECT_TRUE(answer_to("/ws", "Sec-WebSocket-Version: 13\r\n").starts_with("HTTP/1.1 400 "));
    const std::string version = answer_to(
        "/ws", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 12\r\n");
    EXPECT_TRUE(version.starts_with("HTTP/1.1 426 ")) << version;
    EXPECT_NE(version.find("Sec-WebSocket-Version: 13\r\n"), std::string::npos);
    EXPECT_TRUE(answer_to("/elsewhere", good).starts_with("HTTP/1.1 404 "));
}

TEST_F(WebSocketSessionTest, AnswersPingsAndTakesFragmentsByteByByte) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    client.send_frame(Opcode::kPing, "are you there");
    EXPECT_EQ(client.read_frame(), std::pair(0x8a, std::string("are you there")));
    std::string frames;
    append_frame(frames, Opcode::kText, "one ", 7u);
    frames[0] = 0x01;
    append_frame(frames, Opcode::kPing, "between", 8u);
    append_frame(frames, Opcode::kContinuation, "two", 9u);
    for (const char c : frames) client.send({&c, 1});
    EXPECT_EQ(client.read_frame(), std::pair(0x8a, std::string("between")));
    EXPECT_EQ(client.read_text(), "one two");
}

TEST_F(WebSocketSessionTest, APeersCloseIsAnsweredAndReported) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    client.send_close(1000, "bye");
    EXPECT_EQ(client.read_close(), "1000 ");
    EXPECT_EQ(client.read_to_end(), "");
    client.close();
    wait_for_end();
    const CloseInfo end = service.last_end();
    EXPECT_EQ(end.code, 1000);
    EXPECT_EQ(end.reason, "bye");
    EXPECT_TRUE(end.clean);
    EXPECT_TRUE(end.peer_initiated);
}

TEST_F(WebSocketSessionTest, OurCloseWaitsForTheAnswer) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    client.send_frame(Opcode::kText, "close");
    EXPECT_EQ(client.read_close(), "1000 as you wish");
    client.send_frame(Opcode::kText, "too late to matter");
    client.send_close(1000, "");
    EXPECT_EQ(client.read_to_end(), "");
    client.close();
    wait_for_end();
    EXPECT_EQ(service.last_end().code, 1000);
    EXPECT_TRUE(service.last_end().clean);
    EXPECT_FALSE(service.last_end().peer_initiated);
}

TEST_F(WebSocketSessionTest, OurCloseEndsAfterFiveSecondsWithoutAnswer) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    client.send_frame(Opcode::kText, "close");
    EXPECT_EQ(client.read_close(), "1000 as you wish");
    server.thread.advance(clock, 4900ms);
    EXPECT_EQ(service.last_end().code, 0);
    server.thread.advance(clock, 200ms);
    EXPECT_EQ(client.read_to_end(), "");
    wait_for_end();
    EXPECT_FALSE(service.last_end().clean);
}

TEST_F(WebSocketSessionTest, ABrokenLinkIs1006) {
    for (const int way : {0, 1, 2}) {
        service.ends.clear();
        FrameClient client(server.endpoint());
        client.handshake();
        client.read_text();
        if (way == 0) client.reset();
        if (way == 1) client.half_close();
        if (way == 2) client.send_frame(Opcode::kText, "abort");
        wait_for_end();
        EXPECT_EQ(service.last_end().code, 1006);
        EXPECT_FALSE(service.last_end().clean);
    }
}

TEST_F(WebSocketSessionTest, ViolationsCloseWithTheirCode) {
    const auto close_after = [&](std::string_view bytes) {
        service.ends.clear();
        FrameClient client(server.endpoint());
        client.handshake();
        client.read_text();
        client.send(bytes);
        const std::string close = client.read_close();
        EXPECT_EQ(client.read_to_end(), "");
        client.close();
        wait_for_end();
        return close.substr(0, 4);
    };
    EXPECT_EQ(close_after("garbage that is no frame"), "1002");
    EXPECT_EQ(close_after(std::string("\x81\x01x", 3)), "1002");  // not masked
    std::string frame;
    append_frame(frame, Opcode::kText, "\xff\xfe", 5u);
    EXPECT_EQ(close_after(frame), "1007");
    EXPECT_EQ(close_after(std::string("\x82\xff\0\0\0\0\1\0\0\0....", 14)), "1009");
    EXPECT_EQ(service.last_end().code, 1009);
}

TEST_F(WebSocketSessionTest, PingsASilentPeerTwiceAndThenDropsIt) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    server.thread.advance(clock, 19s);
    client.send_frame(Opcode::kText, "still here");
    EXPECT_EQ(client.read_text(), "still here");
    server.thread.advance(clock, 19s);
    server.thread.advance(clock, 1100ms);
    EXPECT_EQ(client.read_frame().first, 0x89);
    client.send_frame(Opcode::kPong, "");
    client.send_frame(Opcode::kPing, "x");
    EXPECT_EQ(client.read_frame().first, 0x8a);
    for (int i = 0; i < 2; ++i) {
        server.thread.advance(clock, 20100ms);
        EXPECT_EQ(client.read_frame().first, 0x89);
    }
    EXPECT_EQ(service.last_end().code, 0);
    server.thread.advance(clock, 20100ms);
    EXPECT_EQ(client.read_close(), "4408 no pong");
    client.close();
    wait_for_end();
    EXPECT_EQ(service.last_end().code, 4408);
}

TEST_F(WebSocketSessionTest, ASlowReaderIsToldSoOnceItReadsOn) {
    FrameClient client(server.endpoint(), "/ws", {}, 4096);
    client.handshake();
    client.read_text();
    client.send_frame(Opcode::kText, "flood");
    server.run_until([&] { return service.last_end().code != 0; });
    EXPECT_EQ(service.last_end().code, 1008);
    EXPECT_EQ(service.last_end().reason, "slow reader");
    auto [first, payload] = client.read_frame();
    for (; first == 0x81; std::tie(first, payload) = client.read_frame())
        ASSERT_EQ(payload.size(), 64u * 1024);
    EXPECT_EQ(first, 0x88);
    EXPECT_EQ(payload, "\x03\xf0slow reader");
    client.close();
    wait_for_end();
}

TEST_F(WebSocketSessionTest, ASlowReaderThatNeverReadsIsDropped) {
    FrameClient client(server.endpoint(), "/ws", {}, 4096);
    client.handshake();
    client.send_frame(Opcode::kText, "flood");
    server.run_until([&] { return service.last_end().code == 1008; });
    server.thread.advance(clock, 6s);
    wait_for_end();
}

/// With a queue of 1 MiB and a client that asks for 48 MB in one breath.
class WebSocketBackPressureTest : public ::testing::Test {
protected:
    static constexpr int kAsked = 200;
    static HttpServerOptions small_queue() {
        HttpServerOptions options;
        options.connection.max_queued_bytes = 1024 * 1024;
        return options;
    }
    void ask() {
        std::string burst;
        for (int i = 0; i < kAsked; ++i) append_frame(burst, Opcode::kText, "wide", 0x12345678u);
        client.send(burst);
        server.run_until([&] { return service.output.heard > 0; });
        FrameClient other(server.endpoint());
        EXPECT_TRUE(other.handshake().starts_with("HTTP/1.1 101 "));
        for (int i = 0; i < 100; ++i) {  // iterations in which the first client could be served on
            other.send_frame(Opcode::kPing, "x");
            other.read_frame();
        }
    }

    /// Bytes that the kernel has taken for `client`.
    std::uint64_t taken() {
        return server.thread.run([&] {
            const auto session = service.output.wide.lock();
            return session ? session->bytes_written() : 0;
        });
    }

    FakeClock clock;
    ChatService service;
    ServerThread server{clock, service, small_queue()};
    FrameClient client{server.endpoint(), "/ws", {}, 4096};
};

TEST_F(WebSocketBackPressureTest, MessagesWaitWhileTheAnswersToEarlierOnesAreNotRead) {
    ask();
    EXPECT_LT(service.output.heard, kAsked / 2);
    client.handshake();
    EXPECT_EQ(client.read_text(), "welcome");
    for (int i = 0; i < kAsked; ++i) ASSERT_EQ(client.read_text().size(), kWide) << i;
    client.send_frame(Opcode::kText, "and on");
    EXPECT_EQ(client.read_text(), "and on");
    EXPECT_LT(service.output.most_queued, 1024u * 1024);
}

TEST_F(WebSocketBackPressureTest, OneThatNeverReadsIsClosedWith1008AndThenDropped) {
    ask();
    server.thread.advance(clock, 9s);
    EXPECT_FALSE(service.has_ended_with(1008));
    server.thread.advance(clock, 2s);
    server.run_until([&] { return service.has_ended_with(1008); });
    EXPECT_LT(service.output.heard, kAsked / 2);
    server.thread.advance(clock, 6s);
    server.run_until([&] { return server.server->connections() == 0; });
}

TEST_F(WebSocketBackPressureTest, OneThatReadsSlowlyIsKeptAliveByWhatItTakes) {
    ask();
    client.handshake();
    for (int i = 0; i < 10; ++i) {
        server.thread.advance(clock, 9s);
        const std::uint64_t before = taken();
        while (taken() == before) ASSERT_EQ(client.read_bytes(kWide).size(), kWide);
    }
    EXPECT_FALSE(service.has_ended_with(1008));
}

TEST_F(WebSocketBackPressureTest, WhatIsSentUnaskedBeyondTheLimitIsLeftOut) {
    client.send_frame(Opcode::kText, "flood");
    server.run_until([&] { return service.has_ended_with(1008); });
    EXPECT_LE(service.output.most_queued, 1024u * 1024 + 65u * 1024);
}

TEST_F(WebSocketSessionTest, PausedReadingGoesOnWhereItStopped) {
    FrameClient client(server.endpoint());
    client.handshake();
    client.read_text();
    std::string burst;
    for (int i = 0; i < 50; ++i)
        append_frame(burst, Opcode::kText, i % 5 == 0 ? "pause" : fmt::format("{}", i), 3u);
    client.send(burst);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(client.read_text(), i % 5 == 0 ? "paused" : fmt::format("{}", i));
}

TEST_F(WebSocketSessionTest, CompressesLargeMessagesWhenThatWasAgreed) {
    const std::string offer =
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
    FrameClient declined(server.endpoint(), "/ws", offer);
    EXPECT_EQ(declined.handshake().find("permessage-deflate"), std::string::npos);
    FrameClient client(server.endpoint(), "/ws?deflate", offer);
    EXPECT_NE(client.handshake().find("permessage-deflate"), std::string::npos);
    EXPECT_EQ(client.read_text(), "welcome");
    const std::string text(100'000, 'z');
    std::string compressed, frame;
    MessageDeflater().deflate(text, 15, compressed);
    append_frame(frame, Opcode::kText, compressed, 99u, Compressed::kYes);
    client.send(frame);
    const auto [first, payload] = client.read_frame();
    EXPECT_EQ(first, 0xc1);
    std::string inflated;
    EXPECT_EQ(MessageInflater().inflate(payload, 1 << 20, inflated),
              MessageInflater::Outcome::kDone);
    EXPECT_EQ(inflated, text);
}

TEST_F(WebSocketSessionTest, ADrainingServerKeepsWebSocketsAndTakesNoNewOnes) {
    FrameClient open(server.endpoint());
    open.handshake();
    open.read_text();
    RawClient busy(server.endpoint());  // has begun to ask when the server stops accepting
    busy.send("GET /ws HTTP/1.1\r\nHost: h\r\n");
    server.run_until([&] { return server.server->connections() == 2; });
    open.send_frame(Opcode::kText, "first");
    EXPECT_EQ(open.read_text(), "first");
    server.thread.run([&] { server.server->stop_accepting(); });
    busy.send(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
        "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    const std::string refused = busy.read_to_end();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_TRUE(refused.ends_with("\"code\":\"UNAVAILABLE\"}")) << refused;
    open.send_frame(Opcode::kText, "still here");
    EXPECT_EQ(open.read_text(), "still here");
}

TEST_F(WebSocketSessionTest, AStoppingServerSaysGoingAway) {
    FrameClient answering(server.endpoint()), silent(server.endpoint());
    for (auto* client : {&answering, &silent}) {
        client->handshake();
        client->read_text();
    }
    std::thread stopping([&] { server.stop(); });
    EXPECT_EQ(answering.read_close(), "1001 the server is stopping");
    answering.send_close(1001, "");
    EXPECT_EQ(silent.read_close(), "1001 the server is stopping");
    server.thread.advance(clock, 5100ms);
    EXPECT_EQ(silent.read_to_end(), "");
    EXPECT_EQ(answering.read_to_end(), "");
    answering.close();
    stopping.join();
    EXPECT_EQ(service.ends.size(), 2u);
}

}  // namespace
}  // namespace crab::net
