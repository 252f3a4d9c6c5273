// The floor of bench/relay: the least work that still makes the same hops as the gateway. HTTP/1.1
// callers over TCP or a Unix socket on one side, WebSocket devices on the other, one thread,
// level-triggered epoll, writes batched per turn. It parses no JSON, checks no credential and keeps
// no record: a call is found again by the fixed-width id that stands at a known place in the frame.
// It reads only what bench/load writes (one spelling of each header, no pipelining) and uses
// nothing of src/, so that a slower gateway cannot slow its own measure down.
//
// Usage: floor_relay --socket PATH; prints `floor ready public=127.0.0.1:PORT admin=PATH`.

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace crab::bench {
namespace {

using namespace std::literals;

constexpr std::string_view kCallPrefix = R"({"type":"tool_call_request","id":")";
constexpr std::string_view kCallMiddle = R"(","name":"echo","args":)";
constexpr std::string_view kResultPrefix = R"({"type":"tool_result","id":")";
constexpr std::string_view kAnswerPrefix =
    R"({"version":"v1","tool_name":"echo","status":"ok","duration_ms":0,"result":)";
// 8 hex digits of the caller's descriptor, 8 of its generation
constexpr std::size_t kIdDigits = 16;

void append_hex(std::string& out, std::uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4)
        out.push_back("0123456789abcdef"[(value >> shift) & 15]);
}

std::uint32_t read_hex(const char* digits) {
    std::uint32_t value = 0;
    std::from_chars(digits, digits + 8, value, 16);
    return value;
}

void append_answer(std::string& out, std::string_view status, std::string_view prefix,
                   std::string_view payload, std::string_view suffix) {
    std::array<char, 8> digits;
    const auto length =
        std::to_chars(digits.begin(), digits.end(), prefix.size() + payload.size() + suffix.size());
    out.append("HTTP/1.1 ")
        .append(status)
        .append("\r\nContent-Type: application/json\r\nContent-Length: ");
    out.append(digits.data(), length.ptr)
        .append("\r\n\r\n")
        .append(prefix)
        .append(payload)
        .append(suffix);
}

/// A server's text frame: FIN, unmasked (RFC 6455, section 5.2); `length` up to 65535 bytes follow.
void append_frame_header(std::string& out, std::size_t length) {
    if (length > 0xffff) throw std::length_error("the floor relays at most 65535 bytes per call");
    out.push_back('\x81');
    if (length < 126) {
        out.push_back(static_cast<char>(length));
    } else {
        out.push_back(126);
        out.push_back(static_cast<char>(length >> 8));
        out.push_back(static_cast<char>(length & 0xff));
    }
}

void append_frame(std::string& out, std::string_view text) {
    append_frame_header(out, text.size());
    out.append(text);
}

void unmask(char* bytes, std::size_t size, std::uint32_t key) {
    const std::uint64_t wide = (static_cast<std::uint64_t>(key) << 32) | key;
    std::size_t at = 0;
    for (std::uint64_t word; at + 8 <= size; at += 8) {
        std::memcpy(&word, bytes + at, 8);
        word ^= wide;
        std::memcpy(bytes + at, &word, 8);
    }
    for (; at < size; ++at) bytes[at] ^= static_cast<char>(key >> (8 * (at % 4)));
}

/// Sec-WebSocket-Accept for a key (RFC 6455, section 4.2.2).
std::string accept_key(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    std::array<unsigned char, 32> encoded;
    const int size = EVP_EncodeBlock(encoded.data(), digest.data(), digest.size());
    return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(size)};
}

/// The value of a header in the one spelling bench/load uses; empty when it is absent.
std::string_view header(std::string_view head, std::string_view name) {
    const auto start = head.find(name);
    if (start == std::string_view::npos) return {};
    const auto value = start + name.size();
    return head.substr(value, head.find("\r\n", value) - value);
}

struct Connection {
    int fd;
    bool device = false;
    bool waiting = false;  ///< a caller whose call is out
    bool dirty = false;  ///< has bytes to flush when the turn ends
    bool wants_writable = false;  ///< the last flush was short
    int via = -1;  ///< descriptor of the device that has the call
    std::uint32_t generation;  ///< of this descriptor number, so that a late answer finds nobody
    std::string in;  ///< the head of an incomplete request or frame
    std::string out;
};

class Relay {
public:
    explicit Relay(const std::string& socket_path)
        : scratch_(256 * 1024), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        sockaddr_in tcp{.sin_family = AF_INET,
                        .sin_port = 0,
                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
        tcp_ = listen_on(reinterpret_cast<sockaddr*>(&tcp), sizeof tcp);
        socklen_t size = sizeof tcp;
        getsockname(tcp_, reinterpret_cast<sockaddr*>(&tcp), &size);

        sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
        if (socket_path.size() >= sizeof local.sun_path)
            throw std::runtime_error("socket path too long: " + socket_path);
        socket_path.copy(local.sun_path, sizeof local.sun_path - 1);
        unix_ = listen_on(reinterpret_cast<sockaddr*>(&local), sizeof local);
        std::printf("floor ready public=127.0.0.1:%u admin=%s\n", ntohs(tcp.sin_port),
                    socket_path.c_str());
        std::fflush(stdout);
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 512> events;
        for (;;) {
            const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
            for (int i = 0; i < count; ++i) on_event(events[i]);
            for (const int fd : dirty_) flush(fd);
            dirty_.clear();
        }
    }

private:
    int listen_on(const sockaddr* address, socklen_t size) {
        const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (bind(fd, address, size) != 0 || listen(fd, SOMAXCONN) != 0)
            throw std::system_error(errno, std::generic_category(), "listen");
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
        return fd;
    }

    void watch(int fd, std::uint32_t events, int operation) {
        epoll_event event{.events = events, .data = {.fd = fd}};
        epoll_ctl(epoll_, operation, fd, &event);
    }

    void on_event(const epoll_event& event) {
        const int fd = event.data.fd;
        if (fd == tcp_ || fd == unix_) return accept_all(fd);
        // closed earlier in this turn
        if (static_cast<std::size_t>(fd) >= connections_.size() || !connections_[fd]) return;
        if (event.events & EPOLLOUT) mark(*connections_[fd]);
        if (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_from(fd);
    }

    void accept_all(int listener) {
        for (int fd;
             (fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
            const int on = 1;
            if (listener == tcp_) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            if (static_cast<std::size_t>(fd) >= connections_.size()) {
                connections_.resize(fd + 1);
                generations_.resize(fd + 1);
            }
            connections_[fd] = std::make_unique<Connection>(
                Connection{.fd = fd, .generation = ++generations_[fd], .in = {}, .out = {}});
            watch(fd, EPOLLIN, EPOLL_CTL_ADD);
        }
    }

    void read_from(int fd) {
        Connection& from = *connections_[fd];
        const ssize_t got = recv(fd, scratch_.data(), scratch_.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return drop(fd);
        if (from.in.empty()) {
            const std::size_t used = consume(from, scratch_.data(), got);
            if (connections_[fd] && used < static_cast<std::size_t>(got))
                from.in.assign(scratch_.data() + used, got - used);
        } else {
            std::string bytes = std::exchange(from.in, {});
            bytes.append(scratch_.data(), got);
            const std::size_t used = consume(from, bytes.data(), bytes.size());
            if (connections_[fd]) from.in.assign(bytes, used);
        }
    }

    /// Handles what is complete in `bytes`; how many bytes that was. The connection may be gone
    /// afterwards.
    std::size_t consume(Connection& from, char* bytes, std::size_t size) {
        std::size_t used = 0;
        const int fd = from.fd;
        while (connections_[fd] && used < size) {
            const std::size_t step = from.device
                                         ? consume_frame(from, bytes + used, size - used)
                                         : consume_request(from, {bytes + used, size - used});
            if (step == 0) break;
            used += step;
        }
        return used;
    }

    std::size_t consume_request(Connection& from, std::string_view bytes) {
        const auto end = bytes.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        const std::string_view head = bytes.substr(0, end + 2);
        std::size_t length = 0;
        if (const auto value = header(head, "Content-Length: "); !value.empty())
            std::from_chars(value.begin(), value.end(), length);
        if (bytes.size() < end + 4 + length) return 0;
        if (head.starts_with("POST ")) {
            relay(from, bytes.substr(end + 4, length));
        } else if (head.starts_with("GET /ws/chat")) {
            upgrade(from, head);
        } else {
            append_answer(from.out, "200 OK", "", R"({"ok":true})", "");
            mark(from);
        }
        return end + 4 + length;
    }

    void relay(Connection& caller, std::string_view body) {
        if (devices_.empty()) return refuse(caller);
        caller.via = devices_[next_device_++ % devices_.size()];
        caller.waiting = true;
        Connection& device = *connections_[caller.via];
        append_frame_header(device.out,
                            kCallPrefix.size() + kIdDigits + kCallMiddle.size() + body.size() + 1);
        device.out.append(kCallPrefix);
        append_hex(device.out, static_cast<std::uint32_t>(caller.fd));
        append_hex(device.out, caller.generation);
        device.out.append(kCallMiddle).append(body).push_back('}');
        mark(device);
    }

    void refuse(Connection& caller) {
        append_answer(caller.out, "503 Service Unavailable", "", R"({"status":"error"})", "");
        mark(caller);
    }

    void upgrade(Connection& from, std::string_view head) {
        from.device = true;
        devices_.push_back(from.fd);
        from.out.append(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\nSec-WebSocket-Accept: ");
        from.out.append(accept_key(header(head, "Sec-WebSocket-Key: "))).append("\r\n\r\n");
        append_frame(from.out,
                     R"({"type":"session_start","v":1,"session_id":"floor","resumed":false,)"
                     R"("message_count":0})");
        append_frame(from.out, R"({"type":"connected","v":1,"message":"floor"})");
        append_frame(from.out, R"({"type":"tools_registered","count":1,"registered":1})");
        mark(from);
    }

    std::size_t consume_frame(Connection& device, char* bytes, std::size_t size) {
        if (size < 6) return 0;
        std::size_t head = 6;
        std::size_t length = bytes[1] & 0x7f;
        if (length == 126) {
            head = 8;
            if (size < head) return 0;
            length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[2])) << 8 |
                     static_cast<unsigned char>(bytes[3]);
        }
        // larger than the floor relays, a fragment, or a control frame: the end
        if (length == 127 || bytes[0] != '\x81') {
            drop(device.fd);
            return size;
        }
        if (size < head + length) return 0;
        std::uint32_t key;
        std::memcpy(&key, bytes + head - 4, 4);
        unmask(bytes + head, length, key);
        on_text({bytes + head, length});
        return head + length;
    }

    void on_text(std::string_view text) {
        // connect, register_tools
        if (text.size() < kResultPrefix.size() + kIdDigits || !text.starts_with(kResultPrefix))
            return;
        const char* id = text.data() + kResultPrefix.size();
        const std::uint32_t fd = read_hex(id);
        if (fd >= connections_.size() || !connections_[fd]) return;
        Connection& caller = *connections_[fd];
        if (!caller.waiting || caller.generation != read_hex(id + 8)) return;
        caller.waiting = false;
        append_answer(caller.out, "200 OK", kAnswerPrefix, text, "}");
        mark(caller);
    }

    void mark(Connection& to) {
        if (!std::exchange(to.dirty, true)) dirty_.push_back(to.fd);
    }

    void flush(int fd) {
        if (!connections_[fd]) return;
        Connection& to = *connections_[fd];
        to.dirty = false;
        const ssize_t sent =
            to.out.empty() ? 0 : send(fd, to.out.data(), to.out.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return;  // the hang-up arrives as an event
        if (sent == static_cast<ssize_t>(to.out.size())) {
            to.out.clear();
        } else if (sent > 0) {
            to.out.erase(0, sent);
        }
        if (to.wants_writable != !to.out.empty()) {
            to.wants_writable = !to.out.empty();
            watch(fd, to.wants_writable ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
        }
    }

    void drop(int fd) {
        const bool device = connections_[fd]->device;
        close(fd);
        connections_[fd].reset();
        if (!device) return;
        std::erase(devices_, fd);
        for (const auto& other : connections_) {
            if (other && other->waiting && other->via == fd) {
                other->waiting = false;
                refuse(*other);
            }
        }
    }

    std::vector<char> scratch_;  // what every connection reads into: an idle one owns no buffer
    int epoll_;
    int tcp_ = -1;
    int unix_ = -1;
    std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
    std::vector<std::uint32_t> generations_;
    std::vector<int> devices_;
    std::vector<int> dirty_;
    std::size_t next_device_ = 0;
};

}  // namespace
}  // namespace crab::bench

int main(int argc, char** argv) {
    if (argc != 3 || argv[1] != std::string_view("--socket")) {
        std::fputs("usage: floor_relay --socket PATH\n", stderr);
        return 2;
    }
    try {
        crab::bench::Relay(argv[2]).run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "floor_relay: %s\n", failure.what());
        return 1;
    }
}
