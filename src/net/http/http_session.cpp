#include "net/http/http_session.hpp"

#include "base/log.hpp"
#include "base/task/spawn.hpp"
#include "net/codec/http_write.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

namespace crab::net {
namespace {

constexpr std::size_t kCopiedWithHead = 4096;  // of what follows a head; enough for most bodies
constexpr std::string_view kTooManyAtWork =
    "too many requests of yours are being served already; wait for some of them";

}  // namespace

HttpSession::HttpSession(HttpServer& server, Admission admission,
                         std::shared_ptr<ConnectionSlots::Slot> slot)
    : server_(server), slot_(std::move(slot)), exchange_(server.loop()), admission_(admission) {
    exchange_.slot_ = slot_.get();
    exchange_.canceller_ = &cancel_;
    exchange_.date_ = &server_.date_;
}

HttpSession::~HttpSession() = default;

void HttpSession::on_open(Connection& connection) {
    connection_ = &connection;
    exchange_.request_.connection = &connection;
    exchange_.request_.peer = connection.peer();
    exchange_.request_.tls = connection.is_tls();
    const bool known = server_.service_.knows(connection);
    const std::string owner = known ? connection.peer_certificate_der() : std::string();
    const bool crowded = known && server_.options().proven_at_open && !slot_->make_way(owner);
    if (admission_ == Admission::kTooMany || crowded)
        return refuse(Head::kUnknown, 503, "too many connections; try again later");
    if (known) slot_->prove(owner);
    set_deadline(server_.loop().now() + server_.options().first_byte_timeout);
}

std::size_t HttpSession::on_bytes(Connection& connection, std::span<char> bytes) {
    std::string_view rest(bytes.data(), bytes.size());
    head_taken_ = false;
    while (!rest.empty() && connection_ != nullptr) {
        std::size_t taken = 0;
        switch (phase_) {
            case Phase::kHead:
                if (connection.backed_up()) break;
                if (head_taken_) {
                    // one request of a pipeline an iteration: others are served in between
                    connection.offer_later();
                } else {
                    taken = take_head(rest);
                }
                break;
            case Phase::kBody: taken = take_body(rest); break;
            case Phase::kServing:
                if (body_) {
                    taken = take_streamed_body(rest);
                    break;
                }
                if (rest.size() > server_.options().max_pipelined_bytes) connection.pause_reading();
                break;
            case Phase::kOver: return bytes.size();
        }
        if (taken == 0) break;
        rest.remove_prefix(taken);
    }
    return bytes.size() - rest.size();
}

// Parses the head where it lies and copies it once, into the exchange's own buffer. One that cannot
// become good is refused before it ends.
std::size_t HttpSession::take_head(std::string_view bytes) {
    std::size_t blank = 0;
    // RFC 9112 section 2.2: empty lines before a request are ignored
    while (bytes.substr(blank).starts_with("\r\n")) blank += 2;
    if (blank != 0) return blank;
    HttpRequest& request = exchange_.request_;
    const HeadOutcome outcome = parse_request_head(bytes, request.head, server_.options().head);
    if (outcome.kind == HeadOutcome::Kind::kRefused) {
        refuse(part_of_head(), outcome.status, outcome.reason);
        return bytes.size();
    }
    if (outcome.kind == HeadOutcome::Kind::kNeedMore) {
        if (!std::exchange(head_begun_, true))
            set_deadline(server_.loop().now() + server_.options().header_timeout);
        keep_path(bytes);
        return 0;
    }
    head_bytes_ = outcome.consumed;
    std::string& buffer = exchange_.buffer_;
    buffer = server_.loop().take_buffer();
    const std::size_t copied = std::min(bytes.size(), head_bytes_ + kCopiedWithHead);
    buffer.reserve(copied + EventLoop::kSlack);
    buffer.assign(bytes.data(), copied);
    request.head.move_to(buffer.data(), head_bytes_);
    begin_exchange();
    if (!slot_->work()) {
        refuse(Head::kKnown, 429, kTooManyAtWork);
        return bytes.size();
    }
    if (const auto refusal = server_.service_.refuse_head(request)) {
        refuse(*refusal);
        return bytes.size();
    }
    const std::size_t length = request.head.content_length.value_or(0);
    const bool streamed =
        request.head.framing() != BodyFraming::kNone && server_.service_.streams_body(request);
    if (!streamed && request.head.framing() != BodyFraming::kChunked &&
        head_bytes_ + length <= copied &&
        (length == 0 || length <= server_.service_.limits_for(request).max_bytes)) {
        buffer.resize(head_bytes_ + length);
        complete();
        return head_bytes_ + length;
    }
    buffer.resize(head_bytes_);
    BodyAdmission admission = server_.service_.admit_body(request);
    held_ = HeldBytes(std::move(admission.budget));
    if (!admission.admitted) {
        begin_without_body();
    } else if (streamed) {
        begin_streamed_body();
    } else {
        begin_body();
    }
    return phase_ == Phase::kOver ? bytes.size() : head_bytes_;
}

/// Of a head that is refused, or not complete: the parser sets the path last of the start line.
HttpSession::Head HttpSession::part_of_head() const {
    return exchange_.request_.head.path.empty() ? Head::kUnknown : Head::kPath;
}

/// For a refusal of a head that never ends; `bytes` are gone by then.
void HttpSession::keep_path(std::string_view bytes) {
    if (part_of_head() == Head::kUnknown) return;
    RequestHead& head = exchange_.request_.head;
    const auto begin = static_cast<std::size_t>(head.target.data() - bytes.data());
    exchange_.buffer_.assign(bytes.data(), begin + head.target.size());
    head.move_to(exchange_.buffer_.data(), exchange_.buffer_.size());
    RequestHead without_fields;
    without_fields.method = head.method;
    without_fields.target = head.target;
    without_fields.path = head.path;
    without_fields.query = head.query;
    head = without_fields;
}

/// The head is complete.
void HttpSession::begin_exchange() {
    HttpRequest& request = exchange_.request_;
    head_taken_ = true;
    head_begun_ = false;
    request.body = {};
    exchange_.keep_alive_ = request.head.keep_alive && server_.connections_.accepting();
    exchange_.head_only_ = request.head.method == "HEAD";
    exchange_.status_ = 0;
    exchange_.shared_origin_ = {};
    began_ = server_.loop().now();
    request.match = server_.service_.match(request);
}

/// False when the request was refused because its caller makes us hold too much already.
bool HttpSession::hold(std::size_t bytes) {
    if (held_.grow_to(bytes)) return true;
    refuse(Head::kKnown, 429,
           "too much of what you send is being received already; wait for some of it");
    return false;
}

void HttpSession::begin_body() {
    const RequestHead& head = exchange_.request_.head;
    const RequestBodyLimits limits = server_.service_.limits_for(exchange_.request_);
    BodyLimits decoder_limits;
    decoder_limits.max_body_bytes = limits.max_bytes;
    if (head.content_length.value_or(0) > limits.max_bytes)
        return refuse(Head::kKnown, 413, "the request body is larger than the limit");
    if (!hold(head.content_length.value_or(0))) return;
    body_.emplace(head, decoder_limits);
    phase_ = Phase::kBody;
    set_deadline(server_.loop().now() + limits.timeout);
    if (head.expect_continue) {
        append_status_line(connection_->out(), 100);
        append_head_end(connection_->out());
        connection_->mark_dirty();
    }
}

/// The request is served from here on, and its body follows, or it is refused.
void HttpSession::begin_streamed_body() {
    const RequestHead& head = exchange_.request_.head;
    const RequestBodyLimits limits = server_.service_.limits_for(exchange_.request_);
    if (head.content_length.value_or(0) > limits.max_bytes)
        return refuse(Head::kKnown, 413, "the request body is larger than the limit");
    if (!hold(HttpExchange::kBodyWindow + EventLoop::kScratchBytes)) return;
    BodyLimits decoder_limits;
    decoder_limits.max_body_bytes = limits.max_bytes;
    body_.emplace(head, decoder_limits);
    HttpExchange::Incoming& incoming = exchange_.incoming_;
    incoming.ended = false;
    incoming.patience = limits.timeout;
    incoming.continue_wanted = head.expect_continue;
    complete();
}

/// The request is served at once, and its body, which nobody may send, ends the connection. An
/// upgrade it is not: what follows is not a frame.
void HttpSession::begin_without_body() {
    exchange_.incoming_.ended = false;
    exchange_.incoming_.error =
        Error{.code = ErrorCode::kUnauthenticated, .message = "a body of this caller is not taken"};
    begin_serving();
    serve();
}

std::size_t HttpSession::take_streamed_body(std::string_view bytes) {
    std::string_view rest = bytes;
    HttpExchange::Incoming& incoming = exchange_.incoming_;
    while (body_) {
        // with nothing left to give, the body may have ended, and nothing more would come to tell
        if (!rest.empty() && !exchange_.wants_body()) {
            connection_->pause_reading();
            break;
        }
        const BodyEvent event = body_->next(rest);
        if (event.kind == BodyEvent::Kind::kNeedMore) break;
        switch (event.kind) {
            case BodyEvent::Kind::kNeedMore: break;
            case BodyEvent::Kind::kData: exchange_.take_body(event.data); break;
            case BodyEvent::Kind::kEnd:
                incoming.ended = true;
                body_.reset();
                break;
            case BodyEvent::Kind::kRefused:
                incoming.error = Error{
                    .code = event.status == 413 ? ErrorCode::kOversize : ErrorCode::kInvalidArgs,
                    .message = std::string(event.reason)};
                body_.reset();
                rest = {};
                break;
        }
    }
    const std::size_t taken = bytes.size() - rest.size();
    exchange_.wake_reader();  // which may end the exchange, and with it the connection
    return taken;
}

std::size_t HttpSession::take_body(std::string_view bytes) {
    std::string_view rest = bytes;
    std::string& buffer = exchange_.buffer_;
    while (true) {
        const BodyEvent event = body_->next(rest);
        switch (event.kind) {
            case BodyEvent::Kind::kData:
                if (!hold(buffer.size() - head_bytes_ + event.data.size())) return bytes.size();
                if (buffer.capacity() < buffer.size() + event.data.size() + EventLoop::kSlack) {
                    buffer.reserve(std::max(2 * buffer.size(),
                                            buffer.size() + event.data.size() + EventLoop::kSlack));
                    exchange_.request_.head.move_to(buffer.data(), head_bytes_);
                }
                buffer.append(event.data);
                break;
            case BodyEvent::Kind::kNeedMore: return bytes.size() - rest.size();
            case BodyEvent::Kind::kEnd:
                body_.reset();
                complete();
                return bytes.size() - rest.size();
            case BodyEvent::Kind::kRefused:
                refuse(Head::kKnown, event.status, event.reason);
                return bytes.size();
        }
    }
}

void HttpSession::begin_serving() {
    exchange_.request_.body = std::string_view(exchange_.buffer_).substr(head_bytes_);
    exchange_.state_ = HttpExchange::State::kOpen;
    exchange_.keeps_running_ = false;
    exchange_.goes_on_ = nullptr;
    set_deadline(kNoDeadline);
    phase_ = Phase::kServing;
}

void HttpSession::complete() {
    begin_serving();
    const HttpRequest& request = exchange_.request_;
    if (request.head.connection_upgrade && request.find("upgrade") && try_upgrade()) return;
    serve();
}

void HttpSession::serve() {
    server_.exchange_begun();
    if (std::exchange(running_, true)) return ready_.wake();
    server_.connections_.serving_begun();
    auto ended = [self = shared_from_this()](const std::exception_ptr&) {  // run() lets nothing out
        self->server_.loop().destroy_later(self);
        self->running_ = false;
        self->server_.connections_.serving_ended();
    };
    spawn(server_.loop().executor(), run(shared_from_this()), std::move(ended), &cancel_);
}

Task<void> HttpSession::run(std::shared_ptr<HttpSession> self) {
    TaskChain& chain = co_await this_chain();
    while (phase_ != Phase::kOver) {
        if (phase_ == Phase::kServing) {
            std::string failure;
            try {
                co_await server_.service_.serve(exchange_);
            } catch (const std::exception& error) {
                failure = error.what();
            } catch (...) {
                failure = "not a standard exception";
            }
            // An exchange that was cancelled although its caller is there must not take the next
            // one with it.
            chain.forget_cancellation();
            finish_exchange(failure);
        } else {
            chain.forget_cancellation();  // nothing is served that could be cancelled
            co_await ready_.wait();
        }
    }
}

/// Counted is what somebody was answered.
void HttpSession::tell_answered(int status) {
    if (status == 0) return;
    server_.service_.answered(exchange_.request_, status,
                              server_.loop().clock().steady_now() - began_);
}

void HttpSession::finish_exchange(std::string_view failure) {
    server_.exchange_ended();
    const bool unread = !exchange_.incoming_.ended;
    exchange_.incoming_ = {};
    exchange_.stream_left_.reset();
    body_.reset();
    const bool gone = exchange_.caller_gone_;
    if (!failure.empty() && (!gone || exchange_.keeps_running_)) {
        log::error("request failed", {{"path", exchange_.request_.path()}, {"reason", failure}});
    }
    if (connection_ == nullptr) {
        tell_answered(exchange_.status_);
        phase_ = Phase::kOver;
        held_ = HeldBytes();
        server_.remove_orphan(*this);
        return release_slot();
    }
    switch (exchange_.state_) {
        case HttpExchange::State::kBody:  // a part of an answer is worse than none
        case HttpExchange::State::kOpen:
            if (!gone)
                respond_refusal(Head::kKnown, 500,
                                "the request failed inside the gateway; see its log");
            break;
        // only a break tells the caller that the stream is not whole
        case HttpExchange::State::kStream:
            tell_answered(exchange_.status_);
            phase_ = Phase::kOver;
            return connection_->close_now(CloseReason::kLocal);
        case HttpExchange::State::kDone: break;
    }
    tell_answered(exchange_.status_);
    server_.loop().give_buffer(std::move(exchange_.buffer_));
    std::string().swap(exchange_.buffer_);
    held_ = HeldBytes();
    // also of one that only waits for its caller to take the answer and leave: it can make way
    slot_->rest();
    if (gone || unread || !exchange_.keep_alive_ || !server_.connections_.accepting()) {
        phase_ = Phase::kOver;
        return connection_->close_after_flush();
    }
    phase_ = Phase::kHead;
    set_deadline(server_.loop().now() + server_.options().idle_timeout);
    connection_->resume_reading();
    connection_->offer_again();
}

// Answers for the HTTP layer itself; the rest of the request stays unread.
void HttpSession::refuse(Head head, int status, std::string_view reason) {
    phase_ = Phase::kOver;
    set_deadline(kNoDeadline);
    body_.reset();
    exchange_.state_ = HttpExchange::State::kOpen;
    exchange_.keep_alive_ = false;
    HttpRequest& request = exchange_.request_;
    if (head != Head::kKnown) {
        exchange_.head_only_ = head == Head::kPath && request.head.method == "HEAD";
        exchange_.shared_origin_ = {};
        request.body = {};
        if (head == Head::kPath) request.match = server_.service_.match(request);
    }
    respond_refusal(head, status, reason);
    if (head == Head::kKnown) tell_answered(status);
    request.head = {};
    std::string().swap(exchange_.buffer_);
    held_ = HeldBytes();
    slot_->rest();
    connection_->close_after_flush();
    ready_.wake();
}

void HttpSession::respond_refusal(Head head, int status, std::string_view reason,
                                  std::span<const HttpHeader> extra) {
    std::string body;
    server_.service_.refusal_body(head == Head::kUnknown ? nullptr : &exchange_.request_, status,
                                  reason, body);
    exchange_.respond(status, "application/json", body, extra);
}

bool HttpSession::try_upgrade() {
    const WebSocketOffer offer = validate_upgrade(exchange_.request_.head);
    if (offer && !server_.connections_.accepting()) {
        refuse(Refusal{.status = 503,
                       .content_type = {},
                       .body = "the gateway is stopping; try again later",
                       .headers = {}});
        return true;
    }
    std::optional<Upgrade> decision = server_.service_.upgrade(exchange_.request_, offer);
    if (!decision) return false;
    if (auto* const refusal = std::get_if<Refusal>(&*decision)) {
        refuse(*refusal);
    } else if (!offer) {
        Refusal broken{.status = offer.error().status,
                       .content_type = {},
                       .body = std::string(offer.error().reason),
                       .headers = {}};
        if (broken.status == 426)
            broken.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
        refuse(broken);
    } else {
        accept_upgrade(*offer, std::move(std::get<AcceptUpgrade>(*decision)));
    }
    return true;
}

// The service's own no.
void HttpSession::refuse(const Refusal& refusal) {
    std::vector<HttpHeader> headers;
    for (const auto& [name, value] : refusal.headers) headers.push_back({name, value});
    set_deadline(kNoDeadline);
    exchange_.state_ = HttpExchange::State::kOpen;
    exchange_.keep_alive_ = false;
    if (refusal.content_type.empty()) {
        respond_refusal(Head::kKnown, refusal.status, refusal.body, headers);
    } else {
        exchange_.respond(refusal.status, refusal.content_type, refusal.body, headers);
    }
    tell_answered(refusal.status);
    phase_ = Phase::kOver;
    connection_->close_after_flush();
    ready_.wake();
}

void HttpSession::accept_upgrade(const WebSocketUpgrade& offer, AcceptUpgrade accepted) {
    const auto deflate =
        accepted.allow_deflate ? negotiate_deflate(exchange_.request_.head) : std::nullopt;
    std::string& out = connection_->out();
    append_upgrade_response(out, offer.key, accepted.subprotocol, deflate);
    if (!accepted.headers.empty()) {
        out.resize(out.size() - 2);  // the empty line
        for (const auto& [name, value] : accepted.headers)
            static_cast<void>(append_header(out, name, value));
        append_head_end(out);
    }
    connection_->mark_dirty();
    accepted.options.role = WebSocketDecoder::Role::kServer;
    accepted.options.deflate = deflate.has_value();
    if (deflate) accepted.options.deflate_window_bits = deflate->send_window_bits;
    const auto session =
        std::make_shared<WebSocketSession>(accepted.options, std::move(accepted.handler));
    // its service limits how many a principal has
    if (accepted.proven && !slot_->proven()) slot_->prove({});
    exchange_.slot_ = nullptr;
    session->hold(std::move(slot_));
    Connection& connection = *std::exchange(connection_, nullptr);
    phase_ = Phase::kOver;
    disarm();
    tell_answered(101);
    exchange_.buffer_.clear();
    connection.set_handler(session);
    ready_.wake();
    session->attach(connection);
}

void HttpSession::cancel_exchange() {
    exchange_.caller_gone_ = true;
    if (!running_) return;
    const auto self = shared_from_this();
    cancel_.emit();
    exchange_.drained_.wake();
}

void HttpSession::finish() {
    exchange_.keep_alive_ = false;
    if (connection_ == nullptr || phase_ != Phase::kHead || head_begun_) return;
    phase_ = Phase::kOver;
    ready_.wake();
    connection_->close_after_flush();
}

void HttpSession::stop() {
    if (phase_ == Phase::kServing) cancel_exchange();
    if (connection_ == nullptr) return;
    if (connection_->queued_bytes() != 0) return connection_->close_after_flush();
    connection_->close_now(CloseReason::kShutdown);
}

// The session lives on in its coroutine, and has no connection any more by which the server would
// find it. It still counts as one, so that calls which nobody waits for have the same limits.
void HttpSession::leave_exchange_alone() {
    if (!slot_->proven()) slot_->prove({});
    exchange_.caller_gone_ = true;
    exchange_.keeps_running_ = true;
    server_.add_orphan(*this);
    exchange_.drained_.wake();
}

// A caller that has ended its half is taken for gone: nothing else tells of one that died. One
// whose request runs on all the same gets its answer, in case it listens.
void HttpSession::on_end_of_stream(Connection& connection) {
    if (phase_ == Phase::kServing && exchange_.goes_on()) {
        exchange_.keep_alive_ = false;
        return;
    }
    if (phase_ == Phase::kServing) return cancel_exchange();
    phase_ = Phase::kOver;
    ready_.wake();
    connection.close_after_flush();
}

void HttpSession::on_drained(Connection&) {
    if (exchange_.drained_.waiting()) exchange_.drained_.wake();
}

void HttpSession::on_closed(Connection&, CloseReason) {
    disarm();
    connection_ = nullptr;
    exchange_.request_.connection = nullptr;
    if (phase_ == Phase::kServing && !server_.connections_.stopping() && exchange_.goes_on())
        return leave_exchange_alone();
    exchange_.slot_ = nullptr;
    const auto slot = std::exchange(slot_, nullptr);
    if (phase_ == Phase::kServing) {
        cancel_exchange();
    } else {
        phase_ = Phase::kOver;
        ready_.wake();
    }
}

// The timer is touched only when the deadline moves to an earlier time; one that moved away is
// noticed when it fires.
void HttpSession::set_deadline(Deadline deadline) {
    deadline_ = deadline;
    if (deadline == kNoDeadline || (armed() && armed_at_ <= deadline)) return;
    armed_at_ = deadline;
    server_.loop().timers().arm(*this, deadline);
}

void HttpSession::on_expired() {
    if (connection_ == nullptr || deadline_ == kNoDeadline) return;
    if (server_.loop().clock().steady_now() < deadline_) return set_deadline(deadline_);
    if (phase_ == Phase::kBody)
        return refuse(Head::kKnown, 408, "the request body did not come in time");
    if (phase_ == Phase::kHead && head_begun_)
        return refuse(part_of_head(), 408, "the request head did not come in time");
    if (connection_->queued_bytes() != 0)
        return set_deadline(server_.loop().now() + server_.options().idle_timeout);
    connection_->close_after_flush();
}

}  // namespace crab::net
