#pragma once

#include "base/test_clock.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/loop_group.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/// What the tests of this folder share: a raw client socket that a test drives by hand, and a loop
/// on a thread of its own.
namespace crab::net::test {

// for what must happen; only a failing test waits as long
inline constexpr int kPatienceMs = 20'000;

/// A blocking client socket without any protocol.
class RawClient {
public:
    /// `from`: an address of this machine, such as 127.0.0.2; empty: the system's choice.
    explicit RawClient(const Endpoint& endpoint, int receive_buffer = 0,
                       const std::string& from = {}) {
        const auto address = to_socket_address(endpoint);
        fd_ = ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!from.empty()) {
            const auto own = to_socket_address(Endpoint::tcp(from, 0));
            if (::bind(fd_, own->data(), own->size) != 0)
                ADD_FAILURE() << "bind: " << std::strerror(errno);
        }
        if (receive_buffer != 0)
            ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        if (::connect(fd_, address->data(), address->size) != 0)
            ADD_FAILURE() << "connect: " << std::strerror(errno);
    }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;
    ~RawClient() { close(); }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    /// Reads until `text` has come, and returns all up to its end; less when the stream ends first.
    std::string read_until(std::string_view text) {
        std::size_t from = 0;
        while (true) {
            if (const std::size_t at = kept_.find(text, from); at != std::string::npos)
                return take(at + text.size());
            from = kept_.size() - std::min(kept_.size(), text.size());
            if (!read_more()) return take(kept_.size());
        }
    }
    std::string read_bytes(std::size_t count) {
        while (kept_.size() < count && read_more()) {}
        return take(std::min(count, kept_.size()));
    }
    /// One response: head and, by Content-Length, body.
    std::string read_response() {
        std::string text = read_until("\r\n\r\n");
        const std::size_t at = text.find("Content-Length: ");
        if (at != std::string::npos)
            text += read_bytes(std::strtoul(text.c_str() + at + 16, nullptr, 10));
        return text;
    }
    /// Everything until the other side ends its stream or resets the link.
    std::string read_to_end() {
        while (read_more()) {}
        return take(kept_.size());
    }
    void half_close() { ::shutdown(fd_, SHUT_WR); }
    void reset() {
        const linger hard{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    int fd() const { return fd_; }

private:
    bool read_more() {
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, kPatienceMs) != 1) {
            ADD_FAILURE() << "nothing came; so far: " << kept_.substr(0, 500);
            return false;
        }
        char space[65536];
        const ssize_t count = ::recv(fd_, space, sizeof space, 0);
        if (count <= 0) return false;
        kept_.append(space, static_cast<std::size_t>(count));
        return true;
    }
    std::string take(std::size_t count) {
        std::string taken = kept_.substr(0, count);
        kept_.erase(0, count);
        return taken;
    }
    int fd_ = -1;
    std::string kept_;
};

/// A loop on its own thread. With a FakeClock its timers run only in advance().
class LoopThread {
public:
    explicit LoopThread(const Clock& clock) : loop(clock), thread_([this] { loop.run(); }) {}
    ~LoopThread() {
        loop.stop();
        thread_.join();
    }
    /// Runs `function()` on the loop and waits for it.
    template <class F>
    auto run(F function) {
        std::packaged_task<std::invoke_result_t<F>()> task(std::move(function));
        auto result = task.get_future();
        loop.post([&task] { task(); });
        return result.get();
    }
    void advance(FakeClock& clock, std::chrono::nanoseconds by) {
        run([&] {
            clock.advance(by);
            loop.timers().run_expired();
        });
    }

    EventLoop loop;

private:
    std::thread thread_;
};

/// A server on a loop of its own, on a free port of 127.0.0.1 or on a Unix socket in a new
/// directory.
class ServerThread {
public:
    ServerThread(const Clock& clock, HttpService& service, HttpServerOptions options = {},
                 bool unix_socket = false)
        : thread(clock) {
        Endpoint endpoint = Endpoint::tcp("127.0.0.1", 0);
        if (unix_socket) {
            std::string name =
                (std::filesystem::temp_directory_path() / "crab-net-XXXXXX").string();
            directory_ = ::mkdtemp(name.data());
            endpoint = Endpoint::unix_socket(directory_ + "/s");
        }
        auto bound = Listener::bind(endpoint);
        if (!bound) throw std::runtime_error(bound.error().message);
        listener_ = std::move(*bound);
        thread.run([&] {
            server = std::make_unique<HttpServer>(thread.loop, service, std::move(options));
            if (const auto listening = server->listen(*listener_); !listening)
                throw std::runtime_error(listening.error().message);
        });
    }
    ~ServerThread() {
        stop();
        listener_.reset();
        if (!directory_.empty()) std::filesystem::remove_all(directory_);
    }
    /// Stops the server and waits until nothing is left of it.
    void stop() {
        if (!server) return;
        std::promise<void> stopped;
        thread.run([&] { server->stop([&] { stopped.set_value(); }); });
        EXPECT_EQ(stopped.get_future().wait_for(std::chrono::milliseconds(kPatienceMs)),
                  std::future_status::ready)
            << "server did not stop";
        thread.run([&] { server.reset(); });
    }
    const Endpoint& endpoint() const { return listener_->endpoint(); }
    std::size_t connections() {
        return thread.run([&] { return server->connections(); });
    }
    /// Lets the loop run until `done()`, which is asked on the loop.
    void run_until(std::function<bool()> done) {
        const auto limit =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
        while (!thread.run(done)) {
            if (std::chrono::steady_clock::now() > limit) {
                ADD_FAILURE() << "it did not come to that";
                return;
            }
            std::this_thread::yield();
        }
    }

    LoopThread thread;
    std::unique_ptr<HttpServer> server;

private:
    std::string directory_;
    std::unique_ptr<Listener> listener_;
};

}  // namespace crab::net::test
