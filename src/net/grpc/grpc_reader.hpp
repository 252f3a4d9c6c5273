#pragma once

#include "net/http2/http2_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::net {

/// The result of reading the next message of a stream.
enum class GrpcReadResult : std::uint8_t {
    kMessage,
    kNothing,     ///< not yet: wait for more()
    kEnd,         ///< the other side has sent all
    kHalf,        ///< and ended within a message
    kPacking,     ///< packed in a way that was not agreed on, or broken
    kTooLarge,
    kGone,        ///< the stream
};

/// Extracts messages from one stream, on either side of a call.
class GrpcReader {
public:
    static constexpr std::size_t kMostMessageBytes = 4 * 1024 * 1024;

    /// Releases the previous message and looks for the next one.
    GrpcReadResult look(Http2Stream& stream);
    /// Of kMessage; holds until the next look() and the stream's next wait.
    std::string_view message() const { return message_; }
    /// Of kTooLarge: the announced size.
    std::size_t wanted_bytes() const { return wanted_; }
    /// Of kMessage: whether more than this message has come.
    bool more_behind(const Http2Stream& stream) const { return stream.body().size() > size_; }
    /// Of kMessage, which was the last: the message, for as long as `kept` is there.
    std::string_view take(Http2Stream& stream, std::string& kept);

private:
    GrpcReadResult unpack(Http2Stream& stream, std::string_view packed);

    std::string_view message_;
    std::optional<std::string> unpacked_;
    std::size_t wanted_ = 0;
    std::size_t size_ = 0;  // of the message given last, with its prefix, in the stream's body
};

}  // namespace crab::net
