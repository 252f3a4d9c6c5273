#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/tls_context.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::net {

struct ClientRequest {
    std::string method = "GET";
    std::string target = "/";
    /// Host, Content-Length and Connection are added
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    /// Instead of `body`: that many bytes, which `next_piece` hands over one after the other; it
    /// ends the request with an empty piece.
    std::uint64_t streamed_bytes = 0;
    std::function<std::string_view()> next_piece{};
};

struct ClientResponse {
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;  ///< empty when it was streamed

    /// Value of the first header of that lower-case name.
    std::optional<std::string_view> find(std::string_view lower_case_name) const;
};

/// Synchronous HTTP/1.1 for command line and SDK callers, over TCP, Unix sockets and TLS: an
/// HttpClient with one connection, whose event loop runs on the calling thread while that waits, so
/// that all callbacks come there. Keeps its connection between requests; a GET or HEAD that finds
/// the kept connection closed is sent once more on a new one. Not thread-safe.
class BlockingClient {
public:
    struct Options {
        Milliseconds connect_timeout{5'000};
        Milliseconds io_timeout{30'000};  ///< without a byte
        std::size_t max_body_bytes = 8 * 1024 * 1024;
        std::shared_ptr<TlsContext> tls;  ///< null: plain
        std::string server_name;  ///< default: the endpoint's host
        std::string host_header;  ///< default: the endpoint's text, `localhost` for Unix sockets
    };
    /// Takes a part of the body as it comes; false ends the request.
    using OnBody = std::function<bool(std::string_view part)>;

    explicit BlockingClient(Endpoint endpoint) : BlockingClient(std::move(endpoint), Options()) {}
    BlockingClient(Endpoint endpoint, Options options);
    BlockingClient(const BlockingClient&) = delete;
    BlockingClient& operator=(const BlockingClient&) = delete;
    ~BlockingClient();

    /// Any status is an answer, not an error. Errors: kUnavailable (nobody there, link broken),
    /// kTimeout (by `deadline` or the options), kForbidden (TLS refused), kOversize, kInternal (not
    /// HTTP), kInvalidArgs (no fit request), kCancelled (next_piece had no more).
    Result<ClientResponse> send(const ClientRequest& request, Deadline deadline = kNoDeadline,
                                const OnBody& on_body = {});
    void close();

private:
    struct Own;
    class Conversation;
    std::unique_ptr<Own> own_;
};

}  // namespace crab::net
