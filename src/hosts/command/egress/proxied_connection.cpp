#include "hosts/command/egress/proxied_connection.hpp"

#include "base/log.hpp"
#include "base/task/spawn.hpp"
#include "hosts/command/egress/command_proxy.hpp"
#include "net/codec/http_head.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/http_write.hpp"
#include "net/codec/url.hpp"
#include "net/http/dialer.hpp"

#include <algorithm>
#include <array>

#include <sys/socket.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

/// Bytes for one side before the other is not read
constexpr std::size_t kMostWaiting = 256 * 1024;
constexpr std::chrono::seconds kDialTime{30};
constexpr std::uint16_t kHttpPort = 80;

/// What a request asks for, its head parsed. Servers do not take the target of CONNECT, so the
/// parser is shown the line of a request for all of a server (`OPTIONS *`) in its place; the fields
/// are then those of the request.
struct ProxyRequest {
    std::string_view authority;  ///< of CONNECT, unchecked; empty for others
    std::string text;  ///< with CONNECT: what `head` points into
    net::RequestHead head;
    net::HeadOutcome outcome;
};

void parse(std::string_view bytes, ProxyRequest& request) {
    constexpr std::string_view kConnect = "CONNECT ", kInstead = "OPTIONS *";
    const std::size_t end = bytes.find(' ', kConnect.size());
    if (!bytes.starts_with(kConnect) || end == bytes.npos) {
        request.outcome = net::parse_request_head(bytes, request.head);
        return;
    }
    request.authority = bytes.substr(kConnect.size(), end - kConnect.size());
    request.text.append(kInstead).append(bytes.substr(end, net::HttpLimits{}.max_head_bytes));
    request.outcome = net::parse_request_head(request.text, request.head);
    if (request.outcome.kind == net::HeadOutcome::Kind::kComplete)
        request.outcome.consumed += end - kInstead.size();
}

/// Fields that are for the proxy alone (RFC 9110, section 7.6.1), or that the rewritten request has
/// again.
bool is_for_the_proxy(const net::RequestHead& head, std::string_view name) {
    constexpr std::array kOurs{"connection",
                               "proxy-connection",
                               "proxy-authorization",
                               "proxy-authenticate",
                               "keep-alive",
                               "te",
                               "upgrade",
                               "host"};
    if (std::ranges::any_of(kOurs, [&](std::string_view ours) { return equals_lower(name, ours); }))
        return true;
    bool named = false;
    for (const net::HttpHeader field : head.headers) {
        if (!equals_lower(field.name, "connection")) continue;
        net::for_each_element(field.value, [&](std::string_view option) {
            named = named || std::ranges::equal(option, name, {}, to_lower, to_lower);
            return true;
        });
    }
    return named;
}

/// The request as the server is asked; empty when it cannot be said in that form.
std::string rewritten(const net::RequestHead& head) {
    std::string request;
    const std::string target =
        head.query.empty() ? std::string(head.path) : fmt::format("{}?{}", head.path, head.query);
    if (!net::append_request_line(request, head.method, target, head.host)) return {};
    for (const net::HttpHeader field : head.headers) {
        if (!is_for_the_proxy(head, field.name) &&
            !net::append_header(request, field.name, field.value))
            return {};
    }
    net::append_connection_close(request);
    net::append_head_end(request);
    return request;
}

}  // namespace

void ProxiedConnection::on_open(net::Connection& connection) {
    proxy_->add(connection);
    (client_ == nullptr ? client_ : server_) = &connection;
}

std::size_t ProxiedConnection::on_bytes(net::Connection& connection, std::span<char> bytes) {
    if (!asked_) return read_request(connection, {bytes.data(), bytes.size()});
    net::Connection* const other = other_of(connection);
    if (other == nullptr) return bytes.size();
    other->out().append(bytes.data(), bytes.size());
    other->mark_dirty();
    if (other->queued_bytes() > kMostWaiting) connection.pause_reading();
    return bytes.size();
}

std::size_t ProxiedConnection::read_request(net::Connection& connection, std::string_view bytes) {
    ProxyRequest request;
    parse(bytes, request);
    const auto& [authority, text, head, outcome] = request;
    if (outcome.kind == net::HeadOutcome::Kind::kNeedMore) return 0;
    asked_ = true;
    connection.pause_reading();
    const auto refuse = [&](int status, std::string_view why) {
        answer(status, why);
        return bytes.size();
    };
    if (outcome.kind == net::HeadOutcome::Kind::kRefused)
        return refuse(outcome.status, outcome.reason);
    const bool tunnel = !authority.empty();
    if (!tunnel && !equals_lower(head.target.substr(0, 7), "http://"))
        return refuse(400,
                      "this is a proxy: ask with CONNECT host:port or with a whole http:// URL");
    const auto where = net::parse_host(tunnel ? authority : head.host);
    if (!where || (tunnel && !where->port))
        return refuse(400, "the target is not a host with a port");
    host_ = where->host;
    port_ = where->port.value_or(kHttpPort);
    const std::string target = fmt::format("{}:{}", host_, port_);
    if (!proxy_->list().allows(host_, port_)) {
        proxy_->refused(target, "it is not listed under egress");
        return refuse(403, target + " is not in the egress list of this provider");
    }
    if (!tunnel) request_ = rewritten(head);
    if (!tunnel && request_.empty()) return refuse(400, "the request cannot be passed on");
    // No TaskGroup: a name may take its time to be resolved, and the end of the process does not
    // wait for it.
    auto ended = [self = shared_from_this()](const std::exception_ptr& failure) {
        if (!failure) return;
        log::error("a proxied connection failed", {{"target", self->host_}});
        if (self->client_ != nullptr) self->client_->close_now(net::CloseReason::kLocal);
    };
    spawn(proxy_->loop().executor(), connect(), std::move(ended), &connecting_);
    return outcome.consumed;
}

Task<void> ProxiedConnection::connect() {
    net::EventLoop& loop = proxy_->loop();
    auto found = co_await proxy_->names().find(loop, net::Endpoint::tcp(host_, port_),
                                               loop.now() + kDialTime, proxy_->user().principal);
    if (client_ == nullptr) co_return;
    if (!found) co_return answer(502, fmt::format("{} has no address", host_));
    std::erase_if(*found, [&](const net::SocketAddress& address) {
        return !proxy_->list().allows_address(net::ip_address_of(address), port_);
    });
    if (found->empty()) {
        proxy_->refused(fmt::format("{}:{}", host_, port_),
                        "its address is private and not listed as an address");
        co_return answer(
            403, fmt::format(
                     "{} has a private address, which is not in the egress list of this provider",
                     host_));
    }
    net::DialTarget target{.addresses = std::move(*found), .tls = nullptr, .server_name = {}};
    const auto dialled = co_await net::dial(proxy_->loop(), std::move(target), shared_from_this(),
                                            proxy_->loop().now() + kDialTime);
    if (client_ == nullptr) {
        if (dialled) (*dialled)->close_now(net::CloseReason::kLocal);
        co_return;
    }
    if (!dialled)
        co_return answer(
            dialled.error().code == ErrorCode::kTimeout ? 504 : 502,
            fmt::format("{}:{} cannot be reached: {}", host_, port_, dialled.error().message));
    if (server_ == nullptr) co_return client_->close_now(net::CloseReason::kReset);
    if (request_.empty()) {
        client_->out() += "HTTP/1.1 200 Connection established\r\n\r\n";
        client_->mark_dirty();
    } else {
        server_->out() += request_;
        server_->mark_dirty();
    }
    client_->resume_reading();
}

void ProxiedConnection::answer(int status, std::string_view text) {
    if (!net::append_response(client_->out(), status, "text/plain", fmt::format("{}\n", text),
                              net::KeepAlive::kNo))
        return client_->close_now(net::CloseReason::kLocal);
    client_->mark_dirty();
    client_->close_after_flush();
}

void ProxiedConnection::on_end_of_stream(net::Connection& connection) {
    (&connection == client_ ? client_ended_ : server_ended_) = true;
    net::Connection* const other = other_of(connection);
    if (other == nullptr) return connection.close_after_flush();
    if (ended(*other)) {
        other->close_after_flush();
        connection.close_after_flush();
    } else if (other->queued_bytes() == 0) {
        ::shutdown(other->fd(), SHUT_WR);  // it has our half's end, and may still answer
    }
}

void ProxiedConnection::on_drained(net::Connection& connection) {
    net::Connection* const other = other_of(connection);
    if (other == nullptr) return;
    if (ended(*other))
        ::shutdown(connection.fd(), SHUT_WR);
    else if (other->paused())
        other->resume_reading();
}

void ProxiedConnection::on_closed(net::Connection& connection, net::CloseReason) {
    proxy_->remove(connection);
    net::Connection* const other = other_of(connection);
    (&connection == client_ ? client_ : server_) = nullptr;
    if (other != nullptr) other->close_after_flush();
    if (client_ == nullptr) connecting_.emit();
}

}  // namespace crab::command
