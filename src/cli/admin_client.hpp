#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/commands.hpp"
#include "json/value.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// An answer of the gateway.
struct Reply {
    int status = 0;
    json::Value body;   ///< null when there is none in JSON, as in errors of other programs
    std::string words;  ///< of an HTTP error that is not JSON: its first line, cut
};

/// One server-sent event; views hold during the call that gets it.
struct ServerEvent {
    std::string_view type, id, data;
};

/// Talks HTTP to a gateway: to its admin socket, or to a public listener with a token. Blocks. Not
/// thread-safe: a second thread takes a second client.
class AdminClient {
public:
    /// Takes one server-sent event.
    using OnEvent = std::function<void(std::string_view type, std::string_view data)>;

    /// Finds the socket (config::client_socket()) or reads the URL; connects only with the first
    /// request. Errors: kInvalidArgs for a URL that is none.
    static Result<AdminClient> make(const Target& target);
    AdminClient(AdminClient&&) noexcept;
    ~AdminClient();

    /// Goes out with every request from now on.
    void add_header(std::string name, std::string value);

    /// Any status is an answer. Errors: kUnavailable (nobody there), kTimeout, kInternal (not HTTP,
    /// not JSON).
    Result<Reply> get(const std::string& path, Deadline deadline = kNoDeadline);
    Result<Reply> post(const std::string& path, const json::Value& body,
                       Deadline deadline = kNoDeadline);
    Result<Reply> patch(const std::string& path, const json::Value& body,
                        Deadline deadline = kNoDeadline);
    Result<Reply> remove(const std::string& path, Deadline deadline = kNoDeadline);
    /// Hands the body of an answer with any status to `on_body` as it comes, which ends it by
    /// answering false.
    Result<int> download(const std::string& path,
                         const std::function<bool(std::string_view part)>& on_body);
    /// Asks for an event stream; `on_event` gets its events. An answer that is not a stream comes
    /// back as the reply.
    Result<Reply> stream(const std::string& path, const json::Value& body, const OnEvent& on_event,
                         Deadline deadline = kNoDeadline);

    /// Follows an endless event stream until `on_event` answers false, or it ends. An answer that
    /// is not a stream comes back as the reply.
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

/// A 2xx reply as it is; any other as the error its body tells (`{"error","code"}`, or an RTP
/// response's `error`).
Result<json::Value> accepted(Result<Reply> reply);

/// What to do about it, where the error itself or its code says that for every cause; else empty.
std::string hint_of(const Error& error);
/// Says on standard error what failed and what to do next; returns the exit code.
int report(const Error& error);

}  // namespace crab::cli
