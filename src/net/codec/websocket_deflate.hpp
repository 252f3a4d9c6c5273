#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

/// Compression of WebSocket messages (RFC 7692) without context takeover: every message stands
/// alone, so one pair of these serves all connections of a thread.
namespace crab::net {

/// zlib's streams, hidden from includers; `End` is deflateEnd or inflateEnd.
using ZlibStream = std::unique_ptr<z_stream_s, void (*)(z_stream_s*)>;

class MessageInflater {
public:
    enum class Outcome : std::uint8_t { kDone, kTooBig, kBroken };

    MessageInflater();

    /// Inflates the payload of one message (fragments joined) into `out`, which it replaces. Stops
    /// at `max_bytes`: a small message that would become a large one costs no more than that.
    Outcome inflate(std::string_view compressed, std::size_t max_bytes, std::string& out);

private:
    ZlibStream stream_;
};

class MessageDeflater {
public:
    static constexpr int kMinWindowBits = 9;  ///< zlib deflates no raw stream with a window of 8
    static constexpr int kMaxWindowBits = 15;

    MessageDeflater();

    /// Appends the compressed payload of one message to `out`; `window_bits` is what was
    /// negotiated, 9..15.
    void deflate(std::string_view message, int window_bits, std::string& out);

private:
    ZlibStream& stream(int window_bits);
    // made when first used, 268 kB at most each
    std::array<ZlibStream, kMaxWindowBits - kMinWindowBits + 1> streams_;
};

}  // namespace crab::net
