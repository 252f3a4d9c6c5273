#include "net/http/blocking_client.hpp"

#include "base/task/spawn.hpp"
#include "net/http/test_support.hpp"
#include "net/loop/listener.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using test::ServerThread;

/// Says how many bytes it was given; `/stream` sends three pieces, an iteration apart.
class Counting : public HttpService {
public:
    Task<void> serve(HttpExchange& exchange) override {
        const HttpRequest& request = exchange.request();
        if (request.path() == "/stream") {
            exchange.start_stream(200, "text/plain");
            for (int i = 0; i < 3; ++i) {
                exchange.write_chunk("piece ");
                co_await yield_to_loop();
            }
            exchange.end_stream();
        } else {
            exchange.respond(200, "text/plain", std::to_string(request.body.size()));
        }
    }
    RequestBodyLimits limits_for(const HttpRequest&) override {
        return {.max_bytes = 8 << 20, .timeout = 10s};
    }
};

/// A listening socket, whose connections the test serves one after the other.
class ByHand {
public:
    explicit ByHand(std::vector<std::function<void(int fd)>> connections)
        : listener_(std::move(*Listener::bind(Endpoint::tcp("127.0.0.1", 0)))) {
        const int fd = *listener_->descriptor();
        thread_ = std::thread([fd, connections = std::move(connections)] {
            for (const auto& serve : connections) {
                pollfd waiting{fd, POLLIN, 0};
                if (::poll(&waiting, 1, test::kPatienceMs) != 1) break;
                const int accepted = ::accept(fd, nullptr, nullptr);
                serve(accepted);
                ::close(accepted);
            }
            ::close(fd);
        });
    }
    ~ByHand() { thread_.join(); }
    Endpoint endpoint() const { return listener_->endpoint(); }

private:
    std::unique_ptr<Listener> listener_;
    std::thread thread_;
};

void read_head(int fd) {
    std::string head;
    for (char byte = 0; !head.ends_with("\r\n\r\n") && ::read(fd, &byte, 1) == 1;) head += byte;
}
void say(int fd, std::string_view text) {
    (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

/// A body of as many bytes, in pieces of 64 KiB.
ClientRequest upload(std::uint64_t bytes) {
    static const std::string piece(64 * 1024, 'u');
    return {.method = "POST",
            .target = "/up",
            .headers = {},
            .body = {},
            .streamed_bytes = bytes,
            .next_piece = [] { return std::string_view(piece); }};
}

class BlockingBodyTest : public ::testing::Test {
protected:
    const RealClock clock;
    Counting service;
    ServerThread server{clock, service};
    BlockingClient client{server.endpoint()};
};

TEST_F(BlockingBodyTest, ABodyGoesOutPieceByPiece) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{7} << 20}) {
        const auto answer = client.send(upload(bytes));
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, std::to_string(bytes));
    }
    EXPECT_EQ(server.connections(), 1u);
}

TEST_F(BlockingBodyTest, TheAnswerToABodyThatIsTooLargeCounts) {
    const auto answer = client.send(upload(std::uint64_t{64} << 20));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(client.send(upload(5))->body, "5");
}

TEST_F(BlockingBodyTest, ABodyThatEndsEarlyEndsTheRequest) {
    ClientRequest request = upload(1'000'000);
    int given = 0;
    request.next_piece = [&] { return std::string_view(given++ == 0 ? "begin" : ""); };
    EXPECT_EQ(client.send(request).error().code, ErrorCode::kCancelled);
    EXPECT_EQ(client.send(upload(5))->body, "5");
}

TEST_F(BlockingBodyTest, WhatCallbacksThrowReachesTheCaller) {
    const auto refuse = [](std::string_view) -> bool { throw std::runtime_error("not that"); };
    EXPECT_THROW((void)client.send({.target = "/stream"}, kNoDeadline, refuse), std::runtime_error);
    ClientRequest request = upload(10);
    request.next_piece = []() -> std::string_view { throw std::runtime_error("nor this"); };
    EXPECT_THROW((void)client.send(request), std::runtime_error);
    EXPECT_EQ(client.send(upload(5))->body, "5");
}

TEST_F(BlockingBodyTest, ASlowReaderOfTheBodyIsNoSilence) {
    BlockingClient impatient(server.endpoint(), {.io_timeout = 200ms});
    std::string heard;
    const auto answer =
        impatient.send({.target = "/stream"}, kNoDeadline, [&](std::string_view piece) {
            std::this_thread::sleep_for(250ms);
            heard += piece;
            return true;
        });
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(heard, "piece piece piece ");
}

TEST(BlockingClientByHand, ASilentServerIsATimeout) {
    std::atomic<bool> over = false;
    const ByHand server({[&](int) {
        while (!over) std::this_thread::yield();
    }});
    BlockingClient client(server.endpoint(), {.io_timeout = 50ms});
    EXPECT_EQ(client.send({}).error().code, ErrorCode::kTimeout);
    over = true;
}

TEST(BlockingClientByHand, AServerThatTakesNothingIsATimeout) {
    std::atomic<bool> over = false;
    const ByHand server({[&](int) {
        while (!over) std::this_thread::yield();
    }});
    BlockingClient client(server.endpoint(), {.io_timeout = 100ms});
    EXPECT_EQ(client.send(upload(std::uint64_t{1} << 30)).error().code, ErrorCode::kTimeout);
    over = true;
}

TEST(BlockingClientByHand, AnAnswerThatCameBeforeTheLinkBrokeCounts) {
    const ByHand server({[](int fd) {
        read_head(fd);
        say(fd, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    }});  // closes with unread bytes, which resets the link
    BlockingClient client(server.endpoint());
    const auto answer = client.send(upload(std::uint64_t{1} << 30));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(answer->body, "no");
}

TEST(BlockingClientByHand, AGetThatFindsItsConnectionClosedIsSentOnceMore) {
    constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const auto answer_one = [&](int fd) {
        read_head(fd);
        say(fd, kOk);
    };
    const auto close_at_the_second = [&](int fd) {
        read_head(fd);
        say(fd, kOk);
        read_head(fd);
    };
    const ByHand server({close_at_the_second, answer_one, answer_one});
    BlockingClient client(server.endpoint());
    for (int i = 0; i < 3; ++i) {
        const auto answer = client.send({});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, "ok");
    }
}

TEST(BlockingClientByHand, APostThatFindsItsConnectionClosedIsNotRepeated) {
    const ByHand server({[](int fd) {
        read_head(fd);
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        read_head(fd);
    }});
    BlockingClient client(server.endpoint());
    ASSERT_TRUE(client.send({}));
    const auto lost = client.send({.method = "POST"});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(lost.error().message.find(server.endpoint().text()), std::string::npos);
}

}  // namespace
}  // namespace crab::net
