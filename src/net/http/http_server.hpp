#pragma once

#include "base/result.hpp"
#include "net/http/date_field.hpp"
#include "net/http/http_service.hpp"
#include "net/tls/connection.hpp"
#include "net/tls/server_connections.hpp"
#include "net/tls/tls_context.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

namespace crab::net {

class HttpSession;

struct HttpServerOptions {
    HttpLimits head;                        ///< 16 KiB; beyond: 431
    Milliseconds header_timeout{5'000};  ///< from a head's first byte to its last; beyond: 408
    /// Of a new connection that says nothing; closed silently
    Milliseconds first_byte_timeout{10'000};
    Milliseconds idle_timeout{75'000};  ///< between requests; closed silently
    /// Of all servers that share `count`, from accept on; beyond: 503, when none makes way
    std::size_t max_connections = 10'000;
    /// Of them, those of one principal on which something is served; beyond: 429. 0: half of them,
    /// but at least 8
    std::size_t max_at_work_of_one = 0;
    bool proven_at_open = false;  ///< HttpService::knows() of every connection that may be served
    std::size_t max_pipelined_bytes = 64 * 1024;  ///< kept while a request is being served
    ConnectionLimits connection;
    std::shared_ptr<TlsContext> tls;  ///< null: plain
    ConnectionSlots::Count count;  ///< share one between loops; null: this server counts alone
};

/// Serves HTTP/1.1 and WebSocket on one loop. Make, use and destroy it on that loop's thread (or
/// before it runs). An orderly end is drain(), which leaves what runs some time, and then stop(),
/// which leaves nothing.
class HttpServer : private TimerNode {
public:
    /// `service` must outlive the server.
    HttpServer(EventLoop& loop, HttpService& service, HttpServerOptions options = {});
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    /// stop() must have finished, or the loop must have ended.
    ~HttpServer() override;

    /// Accepts on one more descriptor of `listener`. Errors: those of Listener::descriptor().
    Result<void> listen(Listener& listener);
    /// Serves a connected socket, which it owns from now on.
    void serve(int fd);
    /// Accepts nothing more and lets idle connections go. What is being served, or is half
    /// received, is answered, and its connection closed after that. WebSockets stay open; new ones
    /// are refused with 503.
    void stop_accepting();
    /// Requests being served, those whose callers have left too.
    std::size_t running() const { return serving_; }
    /// stop_accepting(), and `done` in a later iteration, once nothing is being served or `limit`
    /// has passed. Once only.
    void drain(Milliseconds limit, std::function<void()> done);
    /// Ends the connections that `chosen` picks, and what is being served on them; WebSockets with
    /// this code and reason.
    void end_connections(const std::function<bool(const Connection&)>& chosen, std::uint16_t code,
                         std::string_view reason);
    /// Accepts nothing more, cancels what is being served, closes every connection (WebSockets with
    /// 1001) and calls `done` when the last one is gone and the last coroutine has ended.
    void stop(std::function<void()> done);

    /// Those in their TLS handshake too.
    std::size_t connections() const { return connections_.slots().size() - orphans_.size(); }
    EventLoop& loop() const { return loop_; }
    const HttpServerOptions& options() const { return options_; }

private:
    friend class HttpSession;
    void add_orphan(HttpSession& session) { orphans_.insert(&session); }
    void remove_orphan(HttpSession& session) { orphans_.erase(&session); }
    void exchange_begun() { serving_ += 1; }
    void exchange_ended();
    void end_drain();
    void on_expired() override { end_drain(); }

    EventLoop& loop_;
    HttpService& service_;
    HttpServerOptions options_;
    DateField date_;
    ServerConnections connections_;  // HTTP, and what became a WebSocket
    // serve a request whose connection is gone, and keep its slot
    std::unordered_set<HttpSession*> orphans_;
    std::size_t serving_ = 0;  // exchanges
    std::function<void()> on_drained_;
};

}  // namespace crab::net
