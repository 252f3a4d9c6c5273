#pragma once

#include "net/websocket/websocket_session.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::console {

/// One of two WebSockets whose text messages go from each to the other, at the pace of the slower:
/// one that has much to write has the other read no more. Neither is read before both are open;
/// when one ends, the other is closed with its code. On the loop's thread.
class WebSocketRelay final : public net::WebSocketHandler {
public:
    using Ref = std::shared_ptr<WebSocketRelay>;
    /// The browser's side and the gateway's.
    static std::pair<Ref, Ref> make();

    /// What a text of this side is answered in the place of being passed on, if anything.
    using Instead = std::function<std::optional<std::string>(std::string_view text)>;
    /// Before it is open.
    void answer_instead(Instead instead) { instead_ = std::move(instead); }

    /// Closes this side, and with it the other.
    void close(std::uint16_t code, std::string_view reason);
    /// The same without waiting for the closing handshake of this side.
    void abort();
    bool is_over() const { return over_; }

    void on_open(net::WebSocketSession& session) override;
    void on_text(net::WebSocketSession& session, std::span<char> text) override;
    void on_binary(net::WebSocketSession& session, std::span<char> bytes) override;
    void on_drained(net::WebSocketSession& session) override;
    void on_closed(net::WebSocketSession& session, const net::CloseInfo& info) override;

private:
    net::WebSocketSession* session_ = nullptr;  // while it is open
    Ref other_;                                 // until one of them ends
    Instead instead_;
    bool over_ = false;
};

}  // namespace crab::console
