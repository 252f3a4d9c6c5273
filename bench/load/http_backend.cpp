#include "load/http_backend.hpp"

#include "load/payload.hpp"

#include <strings.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <charconv>
#include <string>

namespace crab::bench {
namespace {

/// `"name":"value"` in a JSON text that was written without spaces; empty when it is not there.
std::string_view member(std::string_view json, std::string_view name) {
    const std::string key = "\"" + std::string(name) + "\":\"";
    const auto at = json.find(key);
    if (at == std::string_view::npos) return {};
    const auto start = at + key.size();
    return json.substr(start, json.find('"', start) - start);
}

void append_answer(std::string& out, std::string_view body) {
    out.append("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n\r\n")
        .append(body);
}

std::string tool(std::string_view name, std::string_view effects) {
    return R"({"name":")" + std::string(name) +
           R"(","description":"Sets the heating of one room and says what will happen.",)"
           R"("input_schema":)" +
           std::string(kParameters) +
           R"(,"output_schema":{"type":"object"},"timeout_ms_default":30000,)"
           R"("timeout_ms_max":120000,)" +
           std::string(effects) + "}";
}

const std::string kTools = R"({"version":"v1","service":"bench","tools":[)" +
                           tool("echo", R"("idempotent":true,"side_effects":false)") + "," +
                           tool("set", R"("idempotent":false,"side_effects":true)") + "]}";

}  // namespace

class HttpBackend::Peer final : public Connection {
public:
    using Connection::Connection;

private:
    std::size_t on_input(std::span<char> bytes) override {
        constexpr std::string_view kLength = "content-length: ";
        const std::string_view text(bytes.data(), bytes.size());
        const auto end = text.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        std::size_t length = 0;
        for (auto line = text.find("\r\n"); line < end; line = text.find("\r\n", line + 2)) {
            const auto value = line + 2 + kLength.size();
            if (value < end &&
                strncasecmp(text.data() + line + 2, kLength.data(), kLength.size()) == 0)
                std::from_chars(text.data() + value, text.end(), length);
        }
        if (text.size() < end + 4 + length) return 0;
        if (text.starts_with("GET ")) {
            append_answer(outgoing(), kTools);
        } else {
            body_ = R"({"version":"v1","call_id":")";
            body_.append(member(text.substr(end + 4, length), "call_id"));
            body_.append(R"(","tool_name":")")
                .append(member(text.substr(end + 4, length), "tool_name"));
            body_.append(R"(","status":"ok","duration_ms":0,"result":)")
                .append(kResult)
                .append("}");
            append_answer(outgoing(), body_);
        }
        return end + 4 + length;
    }

    void on_closed() override {}

    std::string body_;
};

HttpBackend::HttpBackend(Loop& loop, int listener) : loop_(loop), listener_(listener) {
    loop_.watch(listener_, *this, EPOLLIN);
}

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
