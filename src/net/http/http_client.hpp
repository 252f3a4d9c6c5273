#pragma once

#include "base/task/waiter.hpp"
#include "net/http/dialer.hpp"
#include "net/http/http_link.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace crab::net {

/// The server of an HttpClient.
struct HttpAuthority {
    DialTarget server;
    std::string host = "localhost";   ///< the Host field
    /// Resolves the address of every new connection; null: `server`. On error nothing is dialled
    /// and the request fails with it.
    std::function<Task<Result<DialTarget>>(Deadline deadline)> find_server;
    /// Verifies the server's certificate (DER) after the handshake and before any request; null:
    /// the TLS context decides. On error the request fails with it.
    std::function<Task<Result<void>>(std::string certificate_der)> check_certificate;
};

struct HttpClientOptions {
    std::size_t max_connections = 64;  ///< those being made and those kept included
    std::size_t max_waiting = 256;  ///< requests that wait for a connection
    std::size_t max_body_bytes = std::size_t{8} << 20;  ///< of an answer; nothing beyond is read
    Milliseconds connect{5'000};
    Milliseconds idle{30'000};  ///< then a kept connection is not used again
};

/// Asynchronous HTTP/1.1 for one authority and one event loop: a bounded pool of kept connections,
/// one request on each at a time. Follows no redirects, never retries, and reports with every
/// failure whether the server may have seen the request. Source: RFC 9112; docs/protocols/rtp.md,
/// section 4.
class HttpClient final : private HttpLink::Owner {
public:
    HttpClient(EventLoop& loop, HttpAuthority authority, HttpClientOptions options = {})
        : loop_(loop), authority_(std::move(authority)), options_(options) {}
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;
    /// After close(), when every send() has ended.
    ~HttpClient() = default;

    /// Sends one request and waits for its answer; any status is one. `call` must hold until then.
    /// Errors, with `written` false: kRateLimited (no connection became free), kUnavailable and
    /// kTimeout (none could be made), kForbidden (the certificate), those of find_server and
    /// check_certificate, kInvalidArgs; with `written` as it was: kUnavailable (lost), kTimeout,
    /// kCancelled, kOversize, kInternal (not HTTP).
    Task<HttpResult> send(const HttpCall& call, Deadline deadline);

    /// Closes the kept connections, and those in use when their answer is there; requests that wait
    /// are refused.
    void close();
    /// Stops using open connections for new requests, because their authentication is no longer
    /// valid.
    void retire();
    /// Closes every connection now; requests in progress fail as if the link had been lost.
    void abort();
    std::size_t connections() const { return open_; }
    std::size_t waiting() const { return queue_.size(); }

private:
    /// A request that waits for a connection; lives in the frame of acquire().
    struct Waiting {
        Waiter waiter;
        bool queued = true;  ///< has its place in the queue
        std::shared_ptr<HttpLink> link;  ///< handed over
        bool may_dial = false;  ///< or the right to make one
    };
    Task<Result<std::shared_ptr<HttpLink>>> acquire(Deadline deadline);
    Task<Result<std::shared_ptr<HttpLink>>> connect(Deadline deadline);
    Task<Result<void>> connect(std::shared_ptr<HttpLink> link, Deadline deadline);
    std::shared_ptr<HttpLink> take_kept();
    void give_back(std::shared_ptr<HttpLink> link);
    void free_place();
    Waiting* next_waiting();
    void on_kept_link_closed(HttpLink& link) override;

    EventLoop& loop_;
    const HttpAuthority authority_;
    const HttpClientOptions options_;
    std::vector<std::shared_ptr<HttpLink>> kept_;  ///< the one used last at the end
    std::vector<std::shared_ptr<HttpLink>> busy_;  ///< with a request in progress
    std::list<Waiting*> queue_;
    std::uint64_t era_ = 0;  ///< of connections; retire() begins a new one
    std::size_t open_ = 0;
    bool closed_ = false;
};

}  // namespace crab::net
