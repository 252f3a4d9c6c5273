#include "console/relay/websocket_relay.hpp"

namespace crab::console {
namespace {

/// Beyond it the other side is not read; one message may come on top.
constexpr std::size_t kHighWater = std::size_t{256} << 10;

/// What may stand in a close frame (RFC 6455, section 7.4): a lost link is told as going away.
std::uint16_t code_to_pass_on(std::uint16_t code) {
    if (code == 1005) return 1000;
    return code == 1006 || code == 1015 ? 1001 : code;
}

}  // namespace

std::pair<WebSocketRelay::Ref, WebSocketRelay::Ref> WebSocketRelay::make() {
    auto browser = std::make_shared<WebSocketRelay>(), gateway = std::make_shared<WebSocketRelay>();
    browser->other_ = gateway;
    gateway->other_ = browser;
    return {std::move(browser), std::move(gateway)};
}

void WebSocketRelay::close(std::uint16_t code, std::string_view reason) {
    over_ = true;
    if (session_ != nullptr) return session_->close(code, reason);
    // It was never open: nothing will tell its end.
    if (const Ref other = std::exchange(other_, nullptr)) {
        other->other_ = nullptr;
        other->close(code, reason);
    }
}

void WebSocketRelay::abort() {
    over_ = true;
    if (session_ != nullptr) return session_->abort();
    close(1001, {});
}

void WebSocketRelay::on_open(net::WebSocketSession& session) {
    session_ = &session;
    if (over_ || !other_ || other_->over_) return session.close(1001, "the other side is gone");
    if (other_->session_ == nullptr) return session.pause_reading();
    other_->session_->resume_reading();
}

void WebSocketRelay::on_text(net::WebSocketSession& session, std::span<char> text) {
    if (!other_ || other_->session_ == nullptr) return;
    if (instead_) {
        if (const auto answer = instead_({text.data(), text.size()}))
            return session.send_text(*answer);
    }
    other_->session_->send_text({text.data(), text.size()});
    if (other_ && other_->session_ != nullptr && other_->session_->queued_bytes() > kHighWater)
        session.pause_reading();
}

void WebSocketRelay::on_binary(net::WebSocketSession& session, std::span<char>) {
    session.close(1003, "only text is taken");
}

void WebSocketRelay::on_drained(net::WebSocketSession&) {
    if (other_ && other_->session_ != nullptr) other_->session_->resume_reading();
}

void WebSocketRelay::on_closed(net::WebSocketSession&, const net::CloseInfo& info) {
    session_ = nullptr;
    over_ = true;
    if (const Ref other = std::exchange(other_, nullptr)) {
        other->other_ = nullptr;
        other->close(code_to_pass_on(info.code), info.reason);
    }
}

}  // namespace crab::console
