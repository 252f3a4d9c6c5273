#pragma once

#include "base/result.hpp"
#include "net/http2/http2_service.hpp"
#include "net/http2/http2_session.hpp"
#include "net/tls/connection.hpp"
#include "net/tls/server_connections.hpp"
#include "net/tls/tls_context.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crab::net {

struct Http2ServerOptions {
    Http2Limits limits;
    ConnectionLimits connection;
    /// Of all servers that share `count`, from accept on; beyond: closed, when none makes way. One
    /// principal has streams on half of them at most, but on at least 8; beyond: refused
    std::size_t max_connections = 1'000;
    std::shared_ptr<TlsContext> tls;  ///< null: plain, with prior knowledge
    ConnectionSlots::Count count;  ///< share one between loops; null: this server counts alone
};

/// Serves HTTP/2 on one loop, a coroutine for each stream. Make, use and destroy it on that loop's
/// thread (or before it runs).
class Http2Server {
public:
    /// `service` must outlive the server.
    Http2Server(EventLoop& loop, Http2Service& service, Http2ServerOptions options = {});
    Http2Server(const Http2Server&) = delete;
    Http2Server& operator=(const Http2Server&) = delete;
    /// stop() must have finished, or the loop must have ended.
    ~Http2Server();

    /// Accepts on one more descriptor of `listener`. Errors: those of Listener::descriptor().
    Result<void> listen(Listener& listener);
    /// Serves a connected socket, which it owns from now on.
    void serve(int fd);
    /// Accepts no connection and no more streams (GOAWAY); a connection ends with its last stream.
    void stop_accepting();
    /// Cancels what is being served; it may still be answered.
    void cancel();
    /// stop_accepting(), cancels what is being served, and calls `done` when the last connection is
    /// gone and the last coroutine has ended.
    void stop(std::function<void()> done);

    /// Those in their TLS handshake too.
    std::size_t connections() const { return connections_.slots().size(); }
    /// Streams being served.
    std::size_t running() const { return connections_.running(); }
    EventLoop& loop() const { return loop_; }

private:
    void begin(const std::shared_ptr<Http2Stream>& stream);
    std::vector<std::shared_ptr<Http2Session>> sessions() const;

    EventLoop& loop_;
    Http2Service& service_;
    Http2ServerOptions options_;
    ServerConnections connections_;
};

}  // namespace crab::net
