#pragma once

#include "base/task/waiter.hpp"
#include "net/grpc/grpc_client_call.hpp"
#include "net/http/dialer.hpp"
#include "net/http2/http2_session.hpp"

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>

namespace crab::net {

/// gRPC client of one server, on one event loop: one HTTP/2 connection, opened on demand and
/// reopened after it closes. Never retries. Source: RFC 9113, "gRPC over HTTP2".
class GrpcChannel {
public:
    struct Options {
        /// Resolves the server before every connection. On error nothing is dialled and the call
        /// fails with it.
        std::function<Task<Result<DialTarget>>(Deadline deadline)> find_server;
        std::string authority = "localhost";  ///< of every call
        std::string user_agent = "crab";
        bool secure = false;  ///< over TLS, as find_server says
        Milliseconds connect{5'000};
    };
    GrpcChannel(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
    GrpcChannel(const GrpcChannel&) = delete;
    GrpcChannel& operator=(const GrpcChannel&) = delete;
    /// After close(), when every begin() has ended.
    ~GrpcChannel() = default;

    /// Begins a call of `/package.Service/Method`; nothing is sent but its head, with `metadata`
    /// and, unless `deadline` is kNoDeadline, a grpc-timeout. Waits for the connection until
    /// `patience`. Errors, all before the server has seen the call: kUnavailable, kTimeout,
    /// kForbidden (TLS failed), kCancelled, those of find_server.
    Task<Result<GrpcClientCall>> begin(std::string_view path, std::span<const HttpHeader> metadata,
                                       Deadline deadline, Deadline patience);

    /// The next call makes a new connection; calls in progress keep theirs.
    void retire();
    /// Closes the connection and fails all calls, later ones included.
    void close();
    bool is_connected() const { return session_ && session_->accepts_streams(); }

private:
    using SessionRef = std::shared_ptr<Http2Session>;
    Task<Result<SessionRef>> session(Deadline patience);
    Task<Result<SessionRef>> connect(Deadline patience);

    EventLoop& loop_;
    const Options options_;
    std::shared_ptr<GrpcClientCall::Server> server_ = std::make_shared<GrpcClientCall::Server>();
    SessionRef session_;  // null, or the last one; it may be closed
    std::list<Waiter*> waiting_;  // for the connection that is being made
    std::optional<Error> failure_;  // of the last attempt to make one
    bool dialling_ = false;
    bool closed_ = false;
};

}  // namespace crab::net
