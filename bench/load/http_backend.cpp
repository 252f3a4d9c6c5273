#include "load/http_backend.hpp"

#include "load/payload.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <charconv>
#include <string>

namespace crab::bench {

class HttpBackend::Peer final : public Connection {
public:
    using Connection::Connection;

private:
    std::size_t on_input(std::span<char> bytes) override {
        static const std::string answer = [] {
            const std::string body = R"({"version":"v1","tool_name":"echo","status":"ok","duration_ms":0,"result":)" + std::string(kResult) + "}";
            return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        }();
        constexpr std::string_view kLength = "Content-Length: ";
        const std::string_view text(bytes.data(), bytes.size());
        const auto end = text.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        std::size_t length = 0;
        if (const auto at = text.find(kLength); at < end) std::from_chars(text.begin() + at + kLength.size(), text.end(), length);
        if (text.size() < end + 4 + length) return 0;
        outgoing().append(answer);
        return end + 4 + length;
    }

    void on_closed() override {}
};

HttpBackend::HttpBackend(Loop& loop, int listener) : loop_(loop), listener_(listener) { loop_.watch(listener_, *this, EPOLLIN); }

HttpBackend::~HttpBackend() { loop_.forget(listener_); }

void HttpBackend::on_ready(std::uint32_t) {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peers_.push_back(std::make_unique<Peer>(loop_));
        peers_.back()->open(fd);
    }
}

}  // namespace crab::bench
