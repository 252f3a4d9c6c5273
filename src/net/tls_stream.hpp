#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace crab::net {

class TlsContext;

/// What one attempt to move bytes through a non-blocking descriptor came to.
struct Transfer {
    enum class Outcome : std::uint8_t { kDone, kWantsRead, kWantsWrite, kEnd, kBroken };
    Outcome outcome = Outcome::kBroken;
    std::size_t bytes = 0;
};

/// TLS on a non-blocking descriptor that somebody else owns, watches and closes. OpenSSL reads and writes it directly.
class TlsStream {
public:
    TlsStream(TlsContext& context, int fd, const std::string& server_name);
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;
    ~TlsStream();

    Transfer handshake();
    Transfer read(std::span<char> space);
    /// May take a part. After kWants… the same bytes must be offered again, at any address.
    Transfer write(std::string_view bytes);
    /// Sends our end of the stream, if that works at once.
    void shut_down();
    /// The other side's leaf certificate, DER; empty when it showed none.
    std::string peer_certificate_der() const;
    /// Why the last operation was kBroken.
    const std::string& failure() const { return failure_; }
    /// The failure is about the other side's certificate.
    bool certificate_refused() const;

private:
    Transfer outcome_of(int result);
    ssl_st* ssl_;
    std::string failure_;
};

}  // namespace crab::net
