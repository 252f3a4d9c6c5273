#include "apps/crab/http_connection.hpp"

#include "base/scope_exit.hpp"
#include "net/codec/http_body.hpp"
#include "net/codec/http_head.hpp"

#include <cerrno>
#include <cstring>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::size_t kMaxBody = std::size_t{64} << 20;

class Descriptor {
public:
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    ~Descriptor() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

Result<Descriptor> connect_unix(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path) return fail(ErrorCode::kInvalidArgs, "the socket's path is longer than 107 bytes");
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    const ErrorCode code = errno == EACCES || errno == EPERM ? ErrorCode::kForbidden : ErrorCode::kUnavailable;
    return fail(code, std::strerror(errno));
}

Result<Descriptor> connect_tcp(const HttpAddress& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); failed != 0) {
        return fail(ErrorCode::kUnavailable, ::gai_strerror(failed));
    }
    const ScopeExit release([&] { ::freeaddrinfo(found); });
    int reason = ECONNREFUSED;
    for (const addrinfo* one = found; one; one = one->ai_next) {
        Descriptor socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
        if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) return socket;
        reason = errno;
    }
    return fail(ErrorCode::kUnavailable, std::strerror(reason));
}

Result<void> wait_for(int socket, short events, Deadline deadline) {
    while (true) {
        int timeout = -1;
        if (deadline != kNoDeadline) {
            const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now()).count();
            if (left <= 0) return fail(ErrorCode::kTimeout, "no answer in time");
            timeout = static_cast<int>(std::min<std::int64_t>(left, 1'000'000));
        }
        pollfd poll{socket, events, 0};
        const int ready = ::poll(&poll, 1, timeout);
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return fail(ErrorCode::kUnavailable, std::strerror(errno));
    }
}

Result<void> write_all(int socket, std::string_view bytes, Deadline deadline) {
    while (!bytes.empty()) {
        if (auto ready = wait_for(socket, POLLOUT, deadline); !ready) return ready;
        const ssize_t written = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EAGAIN && errno != EINTR) return fail(ErrorCode::kUnavailable, std::strerror(errno));
    }
    return {};
}

/// Reads more onto `buffer`; false at the end of the stream.
Result<bool> read_more(int socket, std::string& buffer, Deadline deadline) {
    if (auto ready = wait_for(socket, POLLIN, deadline); !ready) return std::unexpected(ready.error());
    char bytes[16 * 1024];
    const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
    if (count < 0) return fail(ErrorCode::kUnavailable, std::strerror(errno));
    buffer.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
}

}  // namespace

Result<HttpReply> exchange(const HttpAddress& address, std::string_view method, std::string_view request, Deadline deadline,
                           const std::function<void(std::string_view part)>& on_part) {
    Result<Descriptor> socket = address.socket.empty() ? connect_tcp(address) : connect_unix(address.socket);
    if (!socket) return std::unexpected(socket.error());
    // A server that refuses a body may answer and close before it has read all of it: the answer counts.
    const Result<void> written = write_all(socket->get(), request, deadline);
    std::string buffer;
    net::ResponseHead head;
    net::HeadOutcome outcome;
    while (true) {
        outcome = net::parse_response_head(buffer, head);
        if (outcome.kind == net::HeadOutcome::Kind::kRefused) return fail(ErrorCode::kInternal, "the answer is not HTTP; is this the gateway?");
        if (outcome.kind == net::HeadOutcome::Kind::kComplete && head.status >= 200) break;
        if (outcome.kind == net::HeadOutcome::Kind::kComplete) {
            buffer.erase(0, outcome.consumed);
            continue;
        }
        const auto more = read_more(socket->get(), buffer, deadline);
        if (!more) return std::unexpected(written ? more.error() : written.error());
        if (!*more) return fail(ErrorCode::kUnavailable, "the connection was closed before an answer");
    }
    HttpReply reply{head.status, std::string(head.find("content-type").value_or("")), {}};
    const bool streamed = on_part && reply.content_type.starts_with("text/event-stream");
    net::BodyDecoder decoder(head.framing(method), head.content_length.value_or(0), {.max_body_bytes = streamed ? ~std::uint64_t{0} : kMaxBody});
    buffer.erase(0, outcome.consumed);
    while (true) {
        std::string_view in = buffer;
        for (auto event = decoder.next(in); event.kind != net::BodyEvent::Kind::kNeedMore; event = decoder.next(in)) {
            if (event.kind == net::BodyEvent::Kind::kEnd) return reply;
            if (event.kind == net::BodyEvent::Kind::kRefused) return fail(ErrorCode::kOversize, fmt::format("the answer's body: {}", event.reason));
            if (streamed) on_part(event.data);
            else reply.body.append(event.data);
        }
        buffer.clear();
        const auto more = read_more(socket->get(), buffer, deadline);
        if (!more) return std::unexpected(more.error());
        if (!*more && !decoder.finish()) return fail(ErrorCode::kUnavailable, "the connection broke in the middle of the answer");
        if (!*more) return reply;
    }
}

}  // namespace crab::app
