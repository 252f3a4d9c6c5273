#include "net/tls/connection.hpp"

#include "base/log.hpp"
#include "net/loop/endpoint.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace crab::net {
namespace {

// EPOLLOUT is not watched from the start: a Unix socket would announce every message that the other
// side reads.
constexpr std::uint32_t kReads = EPOLLIN | EPOLLRDHUP;
constexpr std::uint32_t kReadsAndWrites = kReads | EPOLLOUT;
constexpr Milliseconds kFarewell{5'000};  // for a slow reader to take the close frame

}  // namespace

std::string_view name_of(CloseReason reason) {
    switch (reason) {
        case CloseReason::kPeerClosed: return "closed by peer";
        case CloseReason::kReset: return "link broken";
        case CloseReason::kLocal: return "closed";
        case CloseReason::kSlowReader: return "slow reader";
        case CloseReason::kTimeout: return "timeout";
        case CloseReason::kConnectFailed: return "connect failed";
        case CloseReason::kTlsFailed: return "TLS failed";
        case CloseReason::kShutdown: return "shutdown";
    }
    return "closed";
}

void ConnectionHandler::on_end_of_stream(Connection& connection) { connection.close_after_flush(); }

Connection::Connection(Private, EventLoop& loop, int fd, const ConnectionLimits& limits,
                       std::shared_ptr<ConnectionHandler> handler)
    : loop_(loop), limits_(limits), handler_(std::move(handler)), fd_(fd) {}

Connection::~Connection() {
    assert(fd_ < 0 && "a connection keeps itself alive until it is closed");
}

std::shared_ptr<Connection> Connection::accepted(EventLoop& loop, int fd, TlsContext* tls,
                                                 const ConnectionLimits& limits,
                                                 std::shared_ptr<ConnectionHandler> handler) {
    auto connection = std::make_shared<Connection>(Private(), loop, fd, limits, std::move(handler));
    connection->self_ = connection;
    connection->peer_ = PeerAddress::of(fd);
    connection->watching_writes_ = tls != nullptr;
    if (!loop.watch(fd, tls != nullptr ? kReadsAndWrites : kReads, *connection)) {
        connection->close_now(CloseReason::kReset);
    } else if (tls != nullptr) {
        connection->begin_tls(*tls, {});
    } else {
        connection->become_open();
    }
    return connection;
}

std::shared_ptr<Connection> Connection::dial(EventLoop& loop, const SocketAddress& address,
                                             TlsContext* tls, const std::string& server_name,
                                             const ConnectionLimits& limits,
                                             std::shared_ptr<ConnectionHandler> handler) {
    const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    auto connection = std::make_shared<Connection>(Private(), loop, fd, limits, std::move(handler));
    connection->self_ = connection;
    if (fd < 0 || (::connect(fd, address.data(), address.size) != 0 && errno != EINPROGRESS))
        connection->connect_error_ = errno;
    if (tls != nullptr && fd >= 0)
        connection->tls_ = std::make_unique<TlsStream>(*tls, fd, server_name);
    if (connection->connect_error_ != 0 || !loop.watch(fd, kReadsAndWrites, *connection)) {
        if (connection->connect_error_ == 0) connection->connect_error_ = errno;
        loop.call_again(connection, EPOLLERR);
        return connection;
    }
    connection->watching_writes_ = true;
    loop.timers().arm(*connection, loop.now() + limits.handshake);
    return connection;
}

std::uint16_t Connection::local_port() const {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0)
        return 0;
    if (address.family() == AF_INET)
        return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
    if (address.family() == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port);
    return 0;
}

std::string Connection::peer_certificate_der() const {
    return tls_ ? tls_->peer_certificate_der() : std::string();
}

std::string& Connection::out() {
    if (out_.capacity() < EventLoop::kSlack) out_ = loop_.take_buffer();
    return out_;
}

bool Connection::make_room() {
    const auto has_room = [this] { return queued_bytes() <= limits_.max_queued_bytes; };
    if (has_room()) return true;
    // An error here occurs again when the iteration ends, where it is handled.
    if (state_ == State::kOpen && !write_blocked_ && push() == Transfer::Outcome::kWantsWrite)
        wait_for_write();
    if (has_room()) return true;
    overflowed_ = true;
    mark_dirty();
    return false;
}

void Connection::charge_output(std::shared_ptr<ByteBudget> budget) {
    untaken_ = HeldBytes(std::move(budget));
    if (write_blocked_) mark_dirty();
}

/// False: the budget is exhausted.
bool Connection::hold_output() {
    const std::size_t held = out_.size() > kFreeOutput ? out_.size() : 0;
    untaken_.shrink_to(held);
    return untaken_.grow_to(held);
}

bool Connection::backed_up() {
    if (queued_bytes() > limits_.low_water()) backed_up_ = true;
    return backed_up_;
}

void Connection::on_ready(std::uint32_t events) {
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hangup_ = true;
    switch (state_) {
        case State::kConnecting:
            finish_connect();
            // What a server that speaks first has said by now is not announced again.
            if (state_ == State::kOpen && (events & ~EPOLLOUT) != 0) read_some();
            return;
        case State::kHandshaking: return continue_handshake();
        case State::kLingering: return discard_input();
        case State::kClosed: return;
        case State::kOpen: break;
    }
    if (write_blocked_ && ((events & EPOLLOUT) != 0 || tls_)) {
        write_blocked_ = false;
        mark_dirty();
    }
    if ((events & ~EPOLLOUT) != 0 || read_wants_write_) {
        read_wants_write_ = false;
        read_some();
    }
}

void Connection::finish_connect() {
    int error = connect_error_;
    socklen_t size = sizeof error;
    if (error == 0) ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        failure_ = std::strerror(error);
        return close_now(CloseReason::kConnectFailed);
    }
    peer_ = PeerAddress::of(fd_);
    if (!peer_.is_unix()) {
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (!tls_) return become_open();
    state_ = State::kHandshaking;
    loop_.timers().arm(*this, loop_.now() + limits_.handshake);
    continue_handshake();
}

void Connection::begin_tls(TlsContext& tls, const std::string& server_name) {
    tls_ = std::make_unique<TlsStream>(tls, fd_, server_name);
    state_ = State::kHandshaking;
    loop_.timers().arm(*this, loop_.now() + limits_.handshake);
}

void Connection::continue_handshake() {
    switch (tls_->handshake().outcome) {
        case Transfer::Outcome::kDone: return become_open();
        case Transfer::Outcome::kWantsRead:
        case Transfer::Outcome::kWantsWrite: return;
        case Transfer::Outcome::kEnd:
        case Transfer::Outcome::kBroken:
            failure_ = tls_->failure();
            return close_now(CloseReason::kTlsFailed);
    }
}

void Connection::become_open() {
    disarm();
    state_ = State::kOpen;
    if (queued_bytes() != 0) mark_dirty();
    handler_->on_open(*this);
    // what came with the last bytes of the handshake is not announced again
    if (tls_ && state_ == State::kOpen) read_some();
}

void Connection::resume_reading() {
    if (std::exchange(paused_, false) && state_ == State::kOpen) offer_later();
}

void Connection::offer_later() {
    if (!std::exchange(offer_wanted_, true)) loop_.call_again(shared_from_this(), EPOLLIN);
}

void Connection::offer_again() {
    if (!offering_ && !kept_.empty()) offer_later();
}

void Connection::offer_kept() {
    if (offering_ || paused_ || backed_up_ || state_ != State::kOpen || kept_.empty()) return;
    offer(kept_, true);
}

Transfer Connection::read_into(std::span<char> space) {
    if (tls_) {
        const Transfer transfer = tls_->read(space);
        if (transfer.outcome == Transfer::Outcome::kWantsWrite)
            read_wants_write_ = true, wait_for_write();
        return transfer;
    }
    while (true) {
        const ssize_t count = ::recv(fd_, space.data(), space.size(), 0);
        if (count > 0) return {Transfer::Outcome::kDone, static_cast<std::size_t>(count)};
        if (count == 0) return {Transfer::Outcome::kEnd, 0};
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {Transfer::Outcome::kWantsRead, 0};
        if (errno != EINTR) return {Transfer::Outcome::kBroken, 0};
    }
}

// Reads until the socket is empty, the handler wants no more or others have waited long enough.
void Connection::read_some() {
    if (std::exchange(offer_wanted_, false)) offer_kept();
    std::size_t read = 0;
    while (state_ == State::kOpen && !paused_ && !backed_up_ && !ended_ && !offer_wanted_) {
        if (read >= limits_.read_per_iteration || (read > 0 && loop_.is_iteration_long()))
            return loop_.call_again(shared_from_this(), EPOLLIN);
        const std::span<char> space = loop_.scratch();
        const Transfer transfer = read_into(space);
        switch (transfer.outcome) {
            case Transfer::Outcome::kDone: break;
            case Transfer::Outcome::kWantsRead:
            case Transfer::Outcome::kWantsWrite: return;
            case Transfer::Outcome::kBroken:
                return close_now(tls_ && !tls_->failure().empty() ? CloseReason::kTlsFailed
                                                                  : CloseReason::kReset);
            case Transfer::Outcome::kEnd:
                ended_ = true;
                if (closing_) return;
                return handler_->on_end_of_stream(*this);
        }
        read += transfer.bytes;
        if (closing_) continue;  // only the end of the stream is still of interest
        if (kept_.empty()) {
            offer(space.first(transfer.bytes), false);
        } else {
            kept_.reserve(kept_.size() + transfer.bytes + EventLoop::kSlack);
            kept_.append(space.data(), transfer.bytes);
            offer(kept_, true);
        }
        // A short read has emptied the socket: what comes later is a new edge (epoll(7)). Saves one
        // call per message.
        const bool emptied = tls_ ? tls_->emptied() : transfer.bytes < space.size();
        if (emptied && !hangup_) return;
    }
}

void Connection::offer(std::span<char> bytes, bool kept) {
    offering_ = true;
    while (!bytes.empty() && state_ == State::kOpen && !closing_) {
        ConnectionHandler* const handler = handler_.get();
        try {
            bytes = bytes.subspan(handler->on_bytes(*this, bytes));
        } catch (const std::exception& error) {
            log::error("connection handler failed",
                       {{"peer", peer_.text()}, {"reason", error.what()}});
            close_now(CloseReason::kLocal);
        }
        if (handler_.get() == handler) break;  // otherwise an upgraded one takes over in the middle
    }
    offering_ = false;
    if (state_ != State::kOpen || closing_ || bytes.empty()) {
        if (kept_.capacity() >= EventLoop::kSlack) std::string().swap(kept_);
    } else if (kept) {
        kept_.erase(0, kept_.size() - bytes.size());
    } else {
        kept_.reserve(bytes.size() + EventLoop::kSlack);
        kept_.assign(bytes.data(), bytes.size());
    }
}

Transfer Connection::write_from(std::string_view bytes) {
    if (tls_) return tls_->write(bytes);
    while (true) {
        const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) return {Transfer::Outcome::kDone, static_cast<std::size_t>(count)};
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {Transfer::Outcome::kWantsWrite, 0};
        if (errno != EINTR) return {Transfer::Outcome::kBroken, 0};
    }
}

void Connection::on_iteration_end() {
    if (state_ == State::kConnecting || state_ == State::kHandshaking) return;
    if (state_ != State::kOpen) {
        out_.clear();
        sent_ = 0;
        return;
    }
    if (!write_blocked_) write_some();
    if (state_ != State::kOpen) return;
    if (write_blocked_ && !hold_output()) overflowed_ = true;
    if (overflowed_ && !slow_) return slow_reader();
    if (backed_up_ && queued_bytes() <= limits_.low_water()) {
        backed_up_ = false;
        offer_later();
    }
    if (queued_bytes() == 0 && closing_) begin_linger();
}

// Hands the kernel what it takes; kDone when that was everything.
Transfer::Outcome Connection::push() {
    while (sent_ < out_.size()) {
        const Transfer transfer = write_from(std::string_view(out_).substr(sent_));
        if (transfer.outcome != Transfer::Outcome::kDone) return transfer.outcome;
        sent_ += transfer.bytes;
        written_ += transfer.bytes;
        if (armed()) progress_ = loop_.now();
    }
    return Transfer::Outcome::kDone;
}

void Connection::write_some() {
    const bool had_output = sent_ < out_.size();
    switch (push()) {
        case Transfer::Outcome::kDone: break;
        case Transfer::Outcome::kWantsRead:
        case Transfer::Outcome::kWantsWrite: return wait_for_write();
        case Transfer::Outcome::kEnd:
        case Transfer::Outcome::kBroken: return broken_write();
    }
    if (!had_output) return;
    sent_ = 0;
    out_.clear();
    loop_.give_buffer(std::move(out_));
    untaken_.shrink_to(0);
    if (armed() && !slow_) disarm();
    handler_->on_drained(*this);
}

void Connection::broken_write() {
    if (handler_->wants_what_arrived()) {
        hangup_ = true;
        read_some();
    }
    close_now(CloseReason::kReset);
}

void Connection::wait_for_write() {
    write_blocked_ = true;
    if (!std::exchange(watching_writes_, true)) loop_.rewatch(fd_, kReadsAndWrites, *this);
    constexpr std::size_t kWorthMoving = 1024 * 1024;
    if (sent_ > kWorthMoving && sent_ > out_.size() / 2) {
        out_ = out_.substr(sent_);  // erase() would keep the memory
        sent_ = 0;
    }
    if (armed()) return;
    progress_ = loop_.now();
    loop_.timers().arm(*this, progress_ + limits_.stall);
}

void Connection::slow_reader() {
    if (!std::exchange(slow_, true) && handler_->on_slow_reader(*this) && state_ == State::kOpen) {
        loop_.timers().arm(*this, loop_.now() + kFarewell);
    } else {
        close_now(CloseReason::kSlowReader);
    }
}

void Connection::close_after_flush() {
    if (std::exchange(closing_, true) || state_ == State::kClosed) return;
    if (state_ != State::kOpen) return close_now(CloseReason::kLocal);
    mark_dirty();
    if (std::exchange(backed_up_, false)) paused_ = true;
    if (paused_) resume_reading();
}

// Our half ends, theirs is read to its end: closing at once could reset the link and take our last
// bytes with it.
void Connection::begin_linger() {
    state_ = State::kLingering;
    if (tls_) tls_->shut_down();
    ::shutdown(fd_, SHUT_WR);
    if (ended_) return close_now(CloseReason::kPeerClosed);
    loop_.timers().arm(*this, loop_.now() + limits_.linger);
    discard_input();
}

void Connection::discard_input() {
    std::size_t read = 0;
    while (read < limits_.read_per_iteration) {
        const ssize_t count = ::recv(fd_, loop_.scratch().data(), EventLoop::kScratchBytes, 0);
        if (count > 0) {
            read += static_cast<std::size_t>(count);
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        } else {
            return close_now(CloseReason::kLocal);
        }
    }
    loop_.call_again(shared_from_this(), EPOLLIN);
}

void Connection::close_now(CloseReason reason) {
    if (state_ == State::kClosed) return;
    if (tls_ && state_ == State::kOpen && reason != CloseReason::kTlsFailed) tls_->shut_down();
    state_ = State::kClosed;
    disarm();
    if (fd_ >= 0) {
        loop_.unwatch(fd_, *this);
        ::close(std::exchange(fd_, -1));
    }
    sent_ = 0;
    std::string().swap(out_);
    untaken_ = HeldBytes();
    if (!offering_) std::string().swap(kept_);
    const std::shared_ptr<ConnectionHandler> handler = handler_;
    loop_.destroy_later(std::exchange(self_, nullptr));
    handler->on_closed(*this, reason);
}

void Connection::set_handler(std::shared_ptr<ConnectionHandler> handler) {
    std::swap(handler_, handler);
    loop_.destroy_later(std::move(handler));
}

void Connection::on_expired() {
    switch (state_) {
        case State::kConnecting:
        case State::kHandshaking: failure_ = "timed out"; return close_now(CloseReason::kTimeout);
        case State::kLingering: return close_now(CloseReason::kLocal);
        case State::kClosed: return;
        case State::kOpen: break;
    }
    if (slow_) return close_now(CloseReason::kSlowReader);
    if (!write_blocked_) return;
    const SteadyTime due = progress_ + limits_.stall;
    if (loop_.clock().steady_now() >= due) return slow_reader();
    loop_.timers().arm(*this, due);
}

}  // namespace crab::net
