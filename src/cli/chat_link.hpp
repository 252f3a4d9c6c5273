#pragma once

#include "cli/gateway_place.hpp"
#include "json/value.hpp"

#include <memory>
#include <optional>
#include <string>

namespace crab::cli {

/// A chat session with a gateway, for a program that waits: the WebSocket of
/// docs/protocols/clawseed.md, on a thread of its own.
class ChatLink {
public:
    /// Connects; the first frame is `session_start`. `session_id` empty: the gateway makes one;
    /// `agent` is the persona of a session that begins. Errors: those of net::websocket_connect(),
    /// in words for people.
    static Result<std::unique_ptr<ChatLink>> open(const GatewayPlace& place,
                                                  const std::string& session_id,
                                                  const std::string& agent);
    ChatLink(const ChatLink&) = delete;
    ChatLink& operator=(const ChatLink&) = delete;
    /// Says goodbye.
    ~ChatLink();

    /// From any thread; once the link is gone this leads nowhere.
    void send(std::string frame);
    /// The next frame, waited for; nothing when the link is gone.
    std::optional<json::Value> next();
    /// Waits for a frame, or the end of the link (true), or something to read at standard input
    /// (false), whichever comes first.
    bool frame_before_input();
    /// Why the link is gone.
    std::string why_gone() const;

private:
    struct State;
    explicit ChatLink(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace crab::cli
