#pragma once

#include "base/task/spawn.hpp"
#include "net/http/test_support.hpp"
#include "net/http2/http2_server.hpp"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace crab::net::test {

/// A server and a client that speak HTTP/2 over a socket, both on one loop with a thread of its
/// own.
class Http2Pair : public ::testing::Test {
protected:
    void start(Http2Service& service, Http2ServerOptions options = {}) {
        listener = std::move(*Listener::bind(Endpoint::tcp("127.0.0.1", 0)));
        thread.run([&] {
            server = std::make_unique<Http2Server>(thread.loop, service, std::move(options));
            ASSERT_TRUE(server->listen(*listener));
        });
    }
    void connect() {
        std::promise<void> opened;
        thread.run([&] {
            Http2Session::Events events;
            events.on_open = [&opened](Http2Session&) { opened.set_value(); };
            client = std::make_shared<Http2Session>(thread.loop, Http2Session::Role::kClient,
                                                    client_limits, std::move(events));
            Connection::dial(thread.loop, *to_socket_address(listener->endpoint()), nullptr, "",
                             connection_limits, client);
        });
        opened.get_future().wait();
    }
    void stop() {
        std::promise<void> stopped;
        thread.run([&] { server->stop([&] { stopped.set_value(); }); });
        EXPECT_EQ(stopped.get_future().wait_for(std::chrono::milliseconds(kPatienceMs)),
                  std::future_status::ready);
    }
    void TearDown() override {
        if (!server) return;
        thread.run([&] {
            if (client && client->is_open()) client->connection()->close_now(CloseReason::kLocal);
        });
        stop();
        thread.run([&] {
            server.reset();
            client.reset();
        });
    }
    /// Sends `body` as all of the request, and collects that of the answer until its end.
    static Task<std::string> exchange(std::shared_ptr<Http2Stream> stream, std::string body) {
        stream->out() += body;
        stream->end();
        std::string answer;
        for (;;) {
            answer += stream->take_body();
            if (stream->ended() || stream->gone()) break;
            static_cast<void>(co_await stream->more(kNoDeadline));
        }
        co_return answer;
    }

    RealClock clock;
    Http2Limits client_limits;
    ConnectionLimits connection_limits;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Http2Server> server;
    std::shared_ptr<Http2Session> client;
    LoopThread thread{clock};
};

}  // namespace crab::net::test
