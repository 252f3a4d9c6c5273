#include "net/http2/http2_stream.hpp"

#include "net/http2/http2_session.hpp"

#include <nghttp2/nghttp2.h>

namespace crab::net {

namespace {

constexpr std::size_t kStep = 64 * 1024;

}  // namespace

bool Http2Account::add(std::size_t bytes) {
    if (bytes > most_ - bytes_ || !held_.grow_to((bytes_ + bytes) / kStep * kStep)) return false;
    bytes_ += bytes;
    return true;
}

void Http2Account::remove(std::size_t bytes) {
    bytes_ -= bytes;
    if (bytes_ + kStep < held_.bytes() || bytes_ == 0) held_.shrink_to(bytes_ / kStep * kStep);
}

/// What is held already stays held, whether there is room or not.
void Http2Account::charge(std::shared_ptr<ByteBudget> budget) {
    held_ = HeldBytes(std::move(budget));
    (void)held_.grow_to(bytes_ / kStep * kStep);
}

Http2Stream::Http2Stream(Http2Session& session, EventLoop& loop)
    : session_(&session), loop_(loop), account_(session.account()), changed_(loop.timers()) {}

Http2Stream::~Http2Stream() { account_->remove(held_); }

bool Http2Stream::hold(std::size_t bytes) {
    if (!account_->add(bytes)) return false;
    held_ += bytes;
    return true;
}

std::string Http2Stream::peer_certificate_der() const {
    Connection* const connection = session_ != nullptr ? session_->connection() : nullptr;
    return connection != nullptr ? connection->peer_certificate_der() : std::string();
}

bool Http2Stream::prove_caller(std::string_view principal) {
    return session_ == nullptr || session_->prove_caller(principal);
}

void Http2Stream::consume(std::size_t bytes) {
    taken_ += bytes;
    release(bytes);
    if (taken_ < body_.size()) return;
    body_.clear();
    taken_ = 0;
}

std::string Http2Stream::take_body() {
    body_.erase(0, std::exchange(taken_, 0));
    release(body_.size());
    return std::exchange(body_, {});
}

Waiter::Wait Http2Stream::more(Deadline deadline) {
    if (taken_ != 0) {
        body_.erase(0, taken_);
        taken_ = 0;
    }
    if (session_ != nullptr && unreleased_ != 0) {
        nghttp2_session_consume_stream(session_->session_, id_, std::exchange(unreleased_, 0));
        session_->want_write();
    }
    return changed_.wait(deadline);
}

void Http2Stream::flush() {
    if (session_ == nullptr) {
        out_.clear();
        framed_ = 0;
        return;
    }
    if (!hold_output()) return reset(Http2Error::kEnhanceYourCalm);
    if (std::exchange(deferred_, false)) nghttp2_session_resume_data(session_->session_, id_);
    session_->want_write();
}

/// False: its caller has to take what waits first.
bool Http2Stream::hold_output() {
    if (out_.size() <= Connection::kFreeOutput) return true;
    if (!untaken_.has_budget()) untaken_ = HeldBytes(session_->output_budget());
    return untaken_.grow_to(out_.size());
}

Task<WaitEnd> Http2Stream::drained(std::size_t most, Deadline deadline) {
    while (session_ != nullptr && !gone_ && queued_bytes() >= most) {
        const WaitEnd end = co_await changed_.wait(deadline);
        if (end != WaitEnd::kWoken) co_return end;
    }
    co_return WaitEnd::kWoken;
}

void Http2Stream::end(std::span<const HttpHeader> trailers) {
    if (std::exchange(out_ended_, true)) return;
    for (const HttpHeader& trailer : trailers)
        out_trailers_.emplace_back(trailer.name, trailer.value);
    flush();
}

void Http2Stream::reset(Http2Error code) {
    out_ended_ = true;
    if (session_ == nullptr) return;
    nghttp2_submit_rst_stream(session_->session_, NGHTTP2_FLAG_NONE, id_,
                              static_cast<std::uint32_t>(code));
    session_->want_write();
}

// May destroy what serves the stream, and with it the last use of the stream but the caller's.
void Http2Stream::wake() {
    if (gone_ && !(goes_on_ && goes_on_())) cancel_.emit();
    changed_.wake();
}

}  // namespace crab::net
