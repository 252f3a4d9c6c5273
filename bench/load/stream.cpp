#include "load/stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace crab::bench {

struct Stream::Tls {
    SSL* session;

    explicit Tls(int fd) {
        static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());  // one to the process
        session = SSL_new(context);
        SSL_set_fd(session, fd);
    }
    ~Tls() { SSL_free(session); }
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;
};

Stream::Stream(const Address& to, bool tls, int source) : fd_(connect_to(to, source)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!tls) return;
    tls_ = new Tls(fd_);
    if (SSL_connect(tls_->session) != 1) {
        delete tls_;
        ::close(fd_);
        throw std::runtime_error(std::string("TLS handshake: ") +
                                 ERR_error_string(ERR_get_error(), nullptr));
    }
}

Stream::~Stream() {
    delete tls_;
    if (fd_ >= 0) ::close(fd_);
}

void Stream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent =
            tls_ != nullptr ? SSL_write(tls_->session, bytes.data(), static_cast<int>(bytes.size()))
                            : static_cast<int>(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
        if (sent <= 0)
            throw std::runtime_error("the server closed the connection during the handshake");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void Stream::read_more(std::string& into) {
    std::array<char, 4096> bytes;
    const auto got = tls_ != nullptr ? SSL_read(tls_->session, bytes.data(), bytes.size())
                                     : static_cast<int>(recv(fd_, bytes.data(), bytes.size(), 0));
    if (got <= 0)
        throw std::runtime_error(errno == EAGAIN
                                     ? "the server was silent for 10 s during the handshake"
                                     : "the server closed the connection during the handshake");
    into.append(bytes.data(), static_cast<std::size_t>(got));
}

int Stream::release() {
    delete std::exchange(tls_, nullptr);
    const timeval forever{};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
    return std::exchange(fd_, -1);
}

}  // namespace crab::bench
