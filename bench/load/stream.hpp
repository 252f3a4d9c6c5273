#pragma once

#include "load/address.hpp"

#include <string>
#include <string_view>

namespace crab::bench {

/// A blocking client connection, in the clear or over TLS, for handshakes: the measured traffic
/// runs on Connection.
class Stream {
public:
    /// With `tls`, any certificate is accepted: the peer is the gateway under test on this machine.
    Stream(const Address& to, bool tls, int source = 0);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void write(std::string_view bytes);
    /// Appends what has come, at least one byte. Throws std::runtime_error when the other side
    /// closed or was silent for 10 s.
    void read_more(std::string& into);
    /// Hands the descriptor over; with TLS the keys are dropped, and the connection can only be
    /// held open.
    int release();

private:
    struct Tls;
    int fd_;
    Tls* tls_ = nullptr;
};

}  // namespace crab::bench
