#pragma once

#include "cli/gateway_endpoint.hpp"
#include "json/value.hpp"

#include <memory>
#include <optional>
#include <string>

namespace crab::cli {

/// A blocking client of one chat session: the WebSocket of docs/protocols/clawseed.md on a thread
/// of its own.
class ChatLink {
public:
    /// Connects; the first frame is `session_start`. `session_id` empty: the gateway makes one;
    /// `agent` is the persona of a new session. Errors: those of net::websocket_connect(), with
    /// messages for people.
    static Result<std::unique_ptr<ChatLink>> open(const GatewayEndpoint& place,
                                                  const std::string& session_id,
                                                  const std::string& agent);
    ChatLink(const ChatLink&) = delete;
    ChatLink& operator=(const ChatLink&) = delete;
    /// Closes with 1000.
    ~ChatLink();

    /// Thread-safe; no effect once the connection is closed.
    void send(std::string frame);
    /// Waits for the next frame; nothing when the connection is closed.
    std::optional<json::Value> next();
    /// Waits for a frame or the end of the connection (true), or for standard input (false),
    /// whichever comes first.
    bool frame_before_input();
    /// Why the connection was closed.
    std::string why_gone() const;

private:
    struct State;
    explicit ChatLink(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace crab::cli
