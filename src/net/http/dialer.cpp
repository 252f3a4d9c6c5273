#include "net/http/dialer.hpp"

#include "net/codec/http_head.hpp"
#include "net/codec/websocket_handshake.hpp"
#include "net/http/http_reply.hpp"

#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/random.h>
#include <sys/un.h>

namespace crab::net {
namespace {

constexpr std::uint64_t kMostRefusal = 4'096;   // of what a refusal says

const ConnectionLimits kLimits{};

/// Sees a connection through its connect and TLS handshake.
class OpenWaiter final : public ConnectionHandler {
public:
    explicit OpenWaiter(TimerWheel& timers) : waiter(timers) {}
    void on_open(Connection& connection) override {
        connection.pause_reading();  // until the real handler is there
        opened = true;
        waiter.wake();
    }
    std::size_t on_bytes(Connection&, std::span<char>) override { return 0; }
    void on_closed(Connection& connection, CloseReason why) override {
        reason = why;
        failure_ = connection.failure();
        refused_ = connection.tls_refused();
        waiter.wake();
    }
    /// Why it did not open; `at` is what was dialled.
    Error error(const std::string& at) const;

    Waiter waiter;
    bool opened = false;
    std::optional<CloseReason> reason;

private:
    std::string failure_;
    bool refused_ = false;
};

/// `127.0.0.1:42617` or `unix:/path`; whoever reads an error has several servers.
std::string text_of(const SocketAddress& address) {
    if (address.family() == AF_UNIX)
        return fmt::format("unix:{}",
                           reinterpret_cast<const sockaddr_un&>(address.storage).sun_path);
    char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
    if (::getnameinfo(address.data(), address.size, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "its address";
    return address.family() == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                        : fmt::format("{}:{}", host, port);
}

Error OpenWaiter::error(const std::string& at) const {
    if (*reason == CloseReason::kTimeout)
        return {.code = ErrorCode::kTimeout,
                .message = fmt::format("connecting to {} timed out", at)};
    if (*reason == CloseReason::kTlsFailed)
        return {.code = refused_ ? ErrorCode::kForbidden : ErrorCode::kUnavailable,
                .message = fmt::format("TLS handshake with {} failed: {}", at, failure_)};
    return {.code = ErrorCode::kUnavailable,
            .message = fmt::format("cannot connect to {}: {}", at,
                                   failure_.empty() ? std::string(name_of(*reason)) : failure_)};
}

/// The client's half of the opening handshake (RFC 6455 section 4.1).
class UpgradeWaiter final : public ConnectionHandler {
public:
    UpgradeWaiter(TimerWheel& timers, const WebSocketTarget& target,
                  std::shared_ptr<WebSocketHandler> handler)
        : waiter(timers), target_(target), handler_(std::move(handler)) {
        std::array<std::uint8_t, 16> nonce;
        if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
            throw std::system_error(errno, std::generic_category(), "getrandom");
        }
        key_ = to_base64(nonce);
        for (const std::string& protocol : target_.subprotocols) protocols_.push_back(protocol);
        for (const auto& [name, value] : target_.headers) headers_.push_back({name, value});
        request_ = {.host = target_.host,
                    .target = target_.target,
                    .key = key_,
                    .protocols = protocols_,
                    .more = headers_,
                    .offer_deflate = target_.offer_deflate};
    }

    void on_open(Connection& connection) override {
        if (append_upgrade_request(connection.out(), request_)) return connection.mark_dirty();
        fail_with(connection, {.code = ErrorCode::kInvalidArgs,
                               .message = "host, target or a header is not fit for a request"});
    }

    std::size_t on_bytes(Connection& connection, std::span<char> bytes) override {
        ResponseHead head;
        const HeadOutcome outcome = parse_response_head({bytes.data(), bytes.size()}, head);
        switch (outcome.kind) {
            case HeadOutcome::Kind::kNeedMore: return 0;
            case HeadOutcome::Kind::kRefused:
                fail_with(connection,
                          {.code = ErrorCode::kInternal,
                           .message = "the answer is not HTTP: " + std::string(outcome.reason)});
                return bytes.size();
            case HeadOutcome::Kind::kComplete: break;
        }
        if (head.status != 101) {
            const std::string_view body =
                std::string_view(bytes.data(), bytes.size()).substr(outcome.consumed);
            const std::uint64_t length =
                std::min<std::uint64_t>(head.content_length.value_or(0), kMostRefusal);
            if (target_.refusal && body.size() < length) return 0;
            if (target_.refusal) *target_.refusal = body.substr(0, kMostRefusal);
            fail_with(connection, refusal(head, connection.loop().clock().system_now()));
            return bytes.size();
        }
        const auto accepted = check_upgrade_response(head, request_);
        if (!accepted) {
            fail_with(connection, {.code = ErrorCode::kInternal,
                                   .message = "the answer is not a WebSocket handshake: " +
                                              std::string(accepted.error())});
            return bytes.size();
        }
        WebSocketOptions options = target_.options;
        options.role = WebSocketDecoder::Role::kClient;
        options.deflate = accepted->deflate.has_value();
        if (accepted->deflate) options.deflate_window_bits = accepted->deflate->send_window_bits;
        link = {.session = std::make_shared<WebSocketSession>(options, std::move(handler_)),
                .subprotocol = std::string(accepted->protocol)};
        connection.set_handler(link.session);
        link.session->attach(connection);
        waiter.wake();
        return outcome.consumed;
    }

    void on_closed(Connection&, CloseReason) override {
        if (!error)
            error = Error{.code = ErrorCode::kUnavailable,
                          .message = target_.host + " closed the connection during the handshake"};
        waiter.wake();
    }

    Waiter waiter;
    WebSocketLink link;
    std::optional<Error> error;

private:
    void fail_with(Connection& connection, Error why) {
        error = std::move(why);
        connection.close_now(CloseReason::kLocal);
    }
    static Error refusal(const ResponseHead& head, SystemTime now) {
        ErrorCode code = ErrorCode::kUnavailable;
        if (head.status == 400) code = ErrorCode::kInvalidArgs;
        if (head.status == 401) code = ErrorCode::kUnauthenticated;
        if (head.status == 403) code = ErrorCode::kForbidden;
        if (head.status == 404) code = ErrorCode::kNotFound;
        if (head.status == 429) code = ErrorCode::kRateLimited;
        if (head.status < 400) code = ErrorCode::kInternal;
        Error error{
            .code = code,
            .message = fmt::format("the server refused the WebSocket with HTTP {}", head.status),
            .details = fmt::format("{{\"status\":{}}}", head.status)};
        if (const auto after = head.find("retry-after"))
            error.retry_after = parse_retry_after(*after, head.find("date").value_or(""), now);
        return error;
    }

    const WebSocketTarget& target_;
    std::shared_ptr<WebSocketHandler> handler_;
    std::string key_;
    std::vector<std::string_view> protocols_;
    std::vector<HttpHeader> headers_;
    UpgradeRequest request_;
};

}  // namespace

Task<Result<std::shared_ptr<Connection>>> dial(EventLoop& loop, DialTarget target,
                                               std::shared_ptr<ConnectionHandler> handler,
                                               Deadline deadline) {
    Error last{.code = ErrorCode::kUnavailable, .message = "there is no address to connect to"};
    for (const SocketAddress& address : target.addresses) {
        const std::string at = target.text.empty() ? text_of(address) : target.text;
        const auto waiter = std::make_shared<OpenWaiter>(loop.timers());
        const auto connection =
            Connection::dial(loop, address, target.tls.get(), target.server_name,
                             target.limits != nullptr ? *target.limits : kLimits, waiter);
        {
            const ScopeExit abandoned([&] {  // by cancellation or deadline
                if (!waiter->opened) connection->close_now(CloseReason::kLocal);
            });
            const WaitEnd end = co_await waiter->waiter.wait(deadline);
            if (!waiter->opened && !waiter->reason && end == WaitEnd::kExpired)
                co_return fail(ErrorCode::kTimeout,
                               fmt::format("connecting to {} took too long", at));
            if (!waiter->opened && !waiter->reason)
                co_return fail(ErrorCode::kCancelled, "connecting was cancelled");
        }
        if (waiter->opened && !waiter->reason) {
            connection->set_handler(handler);
            connection->resume_reading();
            handler->on_open(*connection);
            co_return connection;
        }
        last = waiter->error(at);
    }
    co_return fail(std::move(last));
}

Task<Result<WebSocketLink>> websocket_connect(EventLoop& loop, WebSocketTarget target,
                                              std::shared_ptr<WebSocketHandler> handler,
                                              Deadline deadline) {
    const std::string at =
        target.server.addresses.empty() ? target.host : text_of(target.server.addresses.front());
    const auto waiter = std::make_shared<UpgradeWaiter>(loop.timers(), target, std::move(handler));
    auto dialled = co_await dial(loop, target.server, waiter, deadline);
    if (!dialled) co_return fail(std::move(dialled.error()));
    const std::shared_ptr<Connection> connection = std::move(*dialled);
    const ScopeExit abandoned([&] {
        if (!waiter->link.session) connection->close_now(CloseReason::kLocal);
    });
    const WaitEnd end = co_await waiter->waiter.wait(deadline);
    if (waiter->link.session) co_return waiter->link;  // a copy: `abandoned` looks at it
    if (waiter->error) co_return fail(std::move(*waiter->error));
    if (end == WaitEnd::kExpired)
        co_return fail(ErrorCode::kTimeout,
                       fmt::format("the WebSocket handshake with {} took too long", at));
    co_return fail(ErrorCode::kCancelled, "connecting was cancelled");
}

}  // namespace crab::net
