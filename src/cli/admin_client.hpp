#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/commands.hpp"
#include "cli/output/report.hpp"
#include "json/value.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// An answer of the gateway.
struct Reply {
    int status = 0;
    json::Value body;   ///< null if it is not JSON, as in errors of other programs
    std::string words;  ///< the first line, truncated, of an HTTP error that is not JSON
};

/// One server-sent event; its views are valid during the callback.
struct ServerEvent {
    std::string_view type, id, data;
};

/// HTTP client of a gateway: its admin socket, or a public listener with a token. Blocks. Not
/// thread-safe: use one per thread.
class AdminClient {
public:
    /// Handles one server-sent event.
    using OnEvent = std::function<void(std::string_view type, std::string_view data)>;

    /// Finds the socket (config::client_socket()) or reads the URL; connects with the first
    /// request. Errors: kInvalidArgs for an invalid URL.
    static Result<AdminClient> make(const Target& target);
    AdminClient(AdminClient&&) noexcept;
    ~AdminClient();

    /// Added to every further request.
    void add_header(std::string name, std::string value);

    /// Any status is an answer. Errors: kUnavailable (connection refused), kTimeout, kInternal (not
    /// HTTP, not JSON).
    Result<Reply> get(const std::string& path, Deadline deadline = kNoDeadline);
    Result<Reply> post(const std::string& path, const json::Value& body,
                       Deadline deadline = kNoDeadline);
    Result<Reply> put(const std::string& path, const json::Value& body,
                      Deadline deadline = kNoDeadline);
    Result<Reply> patch(const std::string& path, const json::Value& body,
                        Deadline deadline = kNoDeadline);
    Result<Reply> remove(const std::string& path, Deadline deadline = kNoDeadline);
    /// Passes the body of an answer with any status to `on_body` as it arrives, until that returns
    /// false.
    Result<int> download(const std::string& path,
                         const std::function<bool(std::string_view part)>& on_body);
    /// Requests an event stream and passes its events to `on_event`. Any other answer is returned
    /// as the reply.
    Result<Reply> stream(const std::string& path, const json::Value& body, const OnEvent& on_event,
                         Deadline deadline = kNoDeadline);

    /// Follows an endless event stream until `on_event` returns false, or it ends. Any other answer
    /// is returned as the reply.
    Result<Reply> follow(const std::string& path,
                         const std::function<bool(const ServerEvent& event)>& on_event);

    bool is_remote() const;
    std::string where() const;  ///< the address, for messages

private:
    struct State;
    explicit AdminClient(std::unique_ptr<State> state);
    Result<Reply> read_stream(std::string method, const std::string& path, std::string body,
                              const std::function<bool(const ServerEvent& event)>& on_event,
                              Deadline deadline);
    std::unique_ptr<State> state_;
};

/// The body of a 2xx reply; otherwise the error in its body (`{"error","code"}`, or an RTP
/// response's `error`).
Result<json::Value> accepted(Result<Reply> reply);
/// accepted() of one GET, by a client of its own.
Result<json::Value> fetch(const Target& target, const std::string& path);

}  // namespace crab::cli
