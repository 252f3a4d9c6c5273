// What one request or message costs the loop's thread, kernel included: `cpu_ns` is that thread's
// CPU time per round trip, with range(0) connections that each have one request in progress.
// BM_Floor is the same conversation on bare epoll.
#include "net/http/http_server.hpp"
#include "net/loop/loop_group.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace crab::net {
namespace {

constexpr std::string_view kRequest =
    "POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
    "application/json\r\nContent-Length: 60\r\n\r\n"
    R"({"tool_name":"thermometer.read","args":{"room":"kitchen"}  })";
constexpr std::size_t kAnswerBytes =
    std::string_view(
        "HTTP/1.1 200 OK\r\nDate: Thu, 28 May 2026 20:26:40 GMT\r\nContent-Type: "
        "application/json\r\nContent-Length: 60\r\n\r\n")
        .size() +
    60;

class Echo : public WebSocketHandler {
    void on_text(WebSocketSession& session, std::span<char> text) override {
        session.begin_text().append(text.data(), text.size());
        session.end_text();
    }
    void on_closed(WebSocketSession&, const CloseInfo&) override {}
};

class EchoService : public HttpService {
public:
    Task<void> serve(HttpExchange& exchange) override {
        exchange.begin_response(200, "application/json") += exchange.request().body;
        exchange.finish_response();
        co_return;
    }
    std::optional<Upgrade> upgrade(const HttpRequest&, const WebSocketOffer&) override {
        AcceptUpgrade accepted;
        accepted.handler = std::make_shared<Echo>();
        return accepted;
    }
};

std::int64_t cpu_ns(pthread_t thread) {
    clockid_t clock{};
    timespec time{};
    ::pthread_getcpuclockid(thread, &clock);
    ::clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// Client sockets that ask together and then collect all answers.
class Callers {
public:
    Callers(const Endpoint& endpoint, std::size_t count) {
        const auto address = to_socket_address(endpoint);
        for (std::size_t i = 0; i < count; ++i) {
            fds_.push_back(::socket(address->family(), SOCK_STREAM, 0));
            const int on = 1;
            ::setsockopt(fds_.back(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            if (::connect(fds_.back(), address->data(), address->size) != 0) std::abort();
        }
    }
    ~Callers() {
        for (const int fd : fds_) ::close(fd);
    }
    void round(std::string_view request, std::size_t answer_bytes) {
        char space[4096];
        for (const int fd : fds_) {
            if (::send(fd, request.data(), request.size(), 0) < 0) std::abort();
        }
        for (const int fd : fds_) {
            for (std::size_t got = 0; got < answer_bytes;) {
                const ssize_t count = ::recv(fd, space, sizeof space, 0);
                if (count <= 0) std::abort();
                got += static_cast<std::size_t>(count);
            }
        }
    }

private:
    std::vector<int> fds_;
};

Endpoint endpoint_for(bool unix_socket) {
    return unix_socket ? Endpoint::unix_socket(fmt::format("/tmp/crab-net-bench-{}", ::getpid()))
                       : Endpoint::tcp("127.0.0.1", 0);
}

void measure(benchmark::State& state, pthread_t thread, Callers& callers, std::string_view request,
             std::size_t answer_bytes) {
    callers.round(request, answer_bytes);
    const std::int64_t before = cpu_ns(thread);
    for (auto _ : state) callers.round(request, answer_bytes);
    const auto requests = static_cast<double>(state.iterations() * state.range(0));
    state.counters["cpu_ns"] = static_cast<double>(cpu_ns(thread) - before) / requests;
    state.SetItemsProcessed(static_cast<std::int64_t>(requests));
}

void serve_and_measure(benchmark::State& state, bool websocket) {
    const RealClock clock;
    EchoService service;
    EventLoop loop(clock);
    std::thread thread([&] { loop.run(); });
    auto listener = *Listener::bind(endpoint_for(state.range(1) != 0));
    std::unique_ptr<HttpServer> server;
    const auto on_loop = [&](auto work) {
        std::promise<void> done;
        loop.post([&] { work(), done.set_value(); });
        done.get_future().get();
    };
    on_loop([&] {
        server = std::make_unique<HttpServer>(loop, service);
        static_cast<void>(server->listen(*listener));
    });
    {
        Callers callers(listener->endpoint(), static_cast<std::size_t>(state.range(0)));
        if (websocket) {
            constexpr std::string_view kUpgrade =
                "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
            std::string answer, frame;
            append_upgrade_response(answer, "dGhlIHNhbXBsZSBub25jZQ==", {});
            callers.round(kUpgrade, answer.size());
            append_frame(frame, Opcode::kText, std::string(200, 'm'), 0x12345678u);
            measure(state, thread.native_handle(), callers, frame, 204);
        } else {
            measure(state, thread.native_handle(), callers, kRequest, kAnswerBytes);
        }
    }
    std::promise<void> stopped;
    on_loop([&] { server->stop([&] { stopped.set_value(); }); });
    stopped.get_future().get();
    on_loop([&] { server.reset(); });
    loop.stop();
    thread.join();
}

void BM_HttpEcho(benchmark::State& state) { serve_and_measure(state, false); }
void BM_WebSocketEcho(benchmark::State& state) { serve_and_measure(state, true); }

// Reads and writes the same number of bytes and understands none of them.
void BM_Floor(benchmark::State& state) {
    auto listener = *Listener::bind(endpoint_for(state.range(1) != 0));
    const int listening = *listener->descriptor();
    const int epoll = ::epoll_create1(0);
    std::atomic<bool> over = false;
    const std::string answer(140, 'a');
    epoll_event event{.events = EPOLLIN, .data = {.fd = listening}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, listening, &event);
    std::thread thread([&] {
        epoll_event events[256];
        char space[65536];
        while (!over) {
            const int count = ::epoll_wait(epoll, events, 256, -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == listening) {
                    const int accepted = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK);
                    epoll_event added{.events = EPOLLIN | EPOLLET, .data = {.fd = accepted}};
                    if (accepted >= 0) ::epoll_ctl(epoll, EPOLL_CTL_ADD, accepted, &added);
                } else if (::recv(fd, space, sizeof space, 0) > 0) {
                    static_cast<void>(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL));
                } else {
                    ::close(fd);
                }
            }
        }
    });
    {
        Callers callers(listener->endpoint(), static_cast<std::size_t>(state.range(0)));
        measure(state, thread.native_handle(), callers, kRequest, answer.size());
    }
    over = true;
    Callers(listener->endpoint(), 1);
    thread.join();
    ::close(epoll);
    ::close(listening);
}

// Heap that one idle connection holds, after it has said something: `bytes` (client sockets own
// none).
void BM_IdleBytes(benchmark::State& state) {
    constexpr std::size_t kConnections = 400;
    const bool websocket = state.range(0) != 0;
    const RealClock clock;
    EchoService service;
    EventLoop loop(clock);
    auto listener = *Listener::bind(endpoint_for(true));
    std::thread thread([&] { loop.run(); });
    const auto on_loop = [&](auto work) {
        std::promise<void> done;
        loop.post([&] { work(), done.set_value(); });
        done.get_future().get();
    };
    std::unique_ptr<HttpServer> server;
    on_loop([&] {
        server = std::make_unique<HttpServer>(loop, service);
        static_cast<void>(server->listen(*listener));
    });
    const auto converse = [&](Callers& callers) {
        if (websocket) {
            std::string answer;
            append_upgrade_response(answer, "dGhlIHNhbXBsZSBub25jZQ==", {});
            callers.round(
                "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                answer.size());
        } else {
            callers.round(kRequest, kAnswerBytes);
        }
        on_loop([] {});
    };
    Callers warm(listener->endpoint(), 1);
    converse(warm);
    for (auto _ : state) {
        const std::size_t before = ::mallinfo2().uordblks;
        std::deque<Callers> callers;  // one after the other, so that they share the loop's buffers
        for (std::size_t i = 0; i < kConnections; ++i)
            converse(callers.emplace_back(listener->endpoint(), 1));
        const std::size_t after = ::mallinfo2().uordblks;
        state.counters["bytes"] = static_cast<double>(after - before) / kConnections;
    }
    std::promise<void> stopped;
    on_loop([&] { server->stop([&] { stopped.set_value(); }); });
    stopped.get_future().get();
    on_loop([&] { server.reset(); });
    loop.stop();
    thread.join();
}

void arguments(benchmark::internal::Benchmark* bench) {
    for (const int unix_socket : {0, 1}) {
        for (const int connections : {1, 16, 256}) bench->Args({connections, unix_socket});
    }
}
BENCHMARK(BM_Floor)->Apply(arguments)->UseRealTime();
BENCHMARK(BM_HttpEcho)->Apply(arguments)->UseRealTime();
BENCHMARK(BM_IdleBytes)->Arg(0)->Arg(1)->Iterations(1)->ArgName("websocket");
BENCHMARK(BM_WebSocketEcho)->Apply(arguments)->UseRealTime();

}  // namespace
}  // namespace crab::net
