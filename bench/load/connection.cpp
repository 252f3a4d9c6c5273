#include "load/connection.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace crab::bench {

void Connection::open(int fd, std::string_view already_read) {
    close();
    fd_ = fd;
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
    loop_.watch(fd_, *this, EPOLLIN);
    std::string bytes(already_read);
    const std::size_t used = on_input(bytes);
    in_.assign(bytes, used);
}

void Connection::close() {
    if (fd_ < 0) return;
    loop_.forget(fd_);
    ::close(fd_);
    fd_ = -1;
    wants_writable_ = false;
    in_.clear();
    out_.clear();
}

std::string& Connection::outgoing() {
    if (!std::exchange(flush_asked_, true)) loop_.flush_later(*this);
    return out_;
}

void Connection::on_ready(std::uint32_t events) {
    if (fd_ < 0) return;
    if (events & EPOLLOUT) outgoing();
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    const auto scratch = loop_.scratch();
    const ssize_t got = recv(fd_, scratch.data(), scratch.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        close();
        on_closed();
        return;
    }
    const auto fresh = scratch.first(static_cast<std::size_t>(got));
    if (in_.empty()) {
        const std::size_t used = on_input(fresh);
        if (fd_ >= 0) in_.assign(fresh.data() + used, fresh.size() - used);
        return;
    }
    std::string bytes = std::exchange(in_, {});
    bytes.append(fresh.data(), fresh.size());
    const std::size_t used = on_input(bytes);
    if (fd_ >= 0) in_.assign(bytes, used);
}

void Connection::flush() {
    flush_asked_ = false;
    if (fd_ < 0 || out_.empty()) return;
    const ssize_t sent = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return;  // the hang-up comes as an event
    if (sent > 0) out_.erase(0, static_cast<std::size_t>(sent));
    if (wants_writable_ == out_.empty()) {
        wants_writable_ = !out_.empty();
        loop_.change(fd_, *this, wants_writable_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

}  // namespace crab::bench
