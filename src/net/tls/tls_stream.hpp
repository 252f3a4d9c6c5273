#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct bio_st;
struct ssl_st;

namespace crab::net {

class TlsContext;

/// What one attempt to move bytes through a non-blocking descriptor came to.
struct Transfer {
    enum class Outcome : std::uint8_t { kDone, kWantsRead, kWantsWrite, kEnd, kBroken };
    Outcome outcome = Outcome::kBroken;
    std::size_t bytes = 0;
};

/// TLS on a non-blocking descriptor that its user owns, watches and closes. OpenSSL reads and
/// writes it directly.
class TlsStream {
public:
    TlsStream(TlsContext& context, int fd, const std::string& server_name);
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;
    ~TlsStream();

    Transfer handshake();
    Transfer read(std::span<char> space);
    /// The last read() left nothing behind: neither in OpenSSL's buffers nor, when it returned, in
    /// the socket.
    bool emptied() const;
    /// May take a part. After kWants… the same bytes must be offered again, at any address.
    Transfer write(std::string_view bytes);
    /// Sends our end of the stream, if that works at once.
    void shut_down();
    /// The other side's leaf certificate, DER; empty when it showed none.
    std::string peer_certificate_der() const;
    /// Why the last operation was kBroken.
    const std::string& failure() const { return failure_; }
    /// The failure is that one side refuses the other: its certificate, or its version of TLS.
    bool refused() const { return refused_; }

private:
    Transfer outcome_of(int result);
    static bool is_refusal(unsigned long error);
    /// OpenSSL asks the socket for as much as its buffer takes; one that gives less is empty.
    static long watch_reads(bio_st* socket, int operation, const char* bytes, std::size_t asked,
                            int, long, int result, std::size_t* got);
    ssl_st* ssl_;
    bool short_read_ = false;  ///< by the last read(2)
    bool refused_ = false;
    std::string failure_;
};

}  // namespace crab::net
