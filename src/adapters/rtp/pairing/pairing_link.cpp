#include "adapters/rtp/pairing/pairing_link.hpp"

#include "trust/pairing/messages.hpp"

namespace crab::rtp {
namespace {

constexpr std::size_t kMostWaiting = 4;  // the remote sends at most two in a row

}  // namespace

net::WebSocketOptions PairingLink::options() {
    return {.max_message_bytes = trust::kMostMessageBytes,
            .ping_after = Milliseconds::zero(),
            .close_timeout = Milliseconds(1'000)};
}

Task<PairingLink::Event> PairingLink::next(std::string& text, Deadline deadline) {
    while (texts_.empty() && !closed_) {
        switch (co_await waiter_.wait(deadline)) {
            case WaitEnd::kWoken: break;
            case WaitEnd::kExpired: co_return Event::kDeadline;
            case WaitEnd::kCancelled: co_return Event::kCancelled;
        }
    }
    if (texts_.empty()) co_return Event::kClosed;
    text = std::move(texts_.front());
    texts_.pop_front();
    if (session_) session_->resume_reading();
    co_return Event::kText;
}

void PairingLink::send(const trust::PairingStep& step) {
    if (!session_) return;
    for (const std::string& text : step.send) session_->send_text(text);
    if (step.close) session_->close(*step.close, {});
}

void PairingLink::abort() {
    if (const auto session = session_) session->abort();
}

void PairingLink::take(net::WebSocketSession& session, std::string_view text) {
    texts_.emplace_back(text);
    if (texts_.size() >= kMostWaiting) session.pause_reading();
    waiter_.wake();
}

/// The state machine treats every oversized text alike, so none of it is kept.
bool PairingLink::on_excess(net::WebSocketSession& session, std::string_view, bool) {
    if (!std::exchange(excess_, true))
        take(session, std::string(trust::kMostMessageBytes + 1, ' '));
    return true;
}

void PairingLink::on_closed(net::WebSocketSession&, const net::CloseInfo&) {
    session_.reset();
    closed_ = true;
    waiter_.wake();
}

}  // namespace crab::rtp
