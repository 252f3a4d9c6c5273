#pragma once

#include "net/codec/http_head.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crab::net {

struct BodyLimits {
    std::uint64_t max_body_bytes = 1024 * 1024;
    std::size_t max_extension_bytes = 1024;  ///< chunk extensions of the whole body together
    std::size_t max_trailer_bytes = 8 * 1024;
};

/// What the decoder saw next.
struct BodyEvent {
    enum class Kind : std::uint8_t { kNeedMore, kData, kEnd, kRefused };

    Kind kind = Kind::kNeedMore;
    int status = 0;  ///< refused: 413 too large, 400 broken chunks, 431 trailers beyond the limit
    std::string_view data{};  ///< a piece of the body, never empty, a view into the input
    std::string_view reason{};  ///< refused: static text
};

/// Finds the end of one body (RFC 9112 section 6 and 7) and hands out its bytes where they lie.
///
///     for (auto event = body.next(in); event.kind == kData; event = body.next(in))
///     keep(event.data);
///
/// Chunk extensions are skipped, trailers are checked and dropped. What follows the body stays in
/// `in`.
class BodyDecoder {
public:
    /// `length` counts with BodyFraming::kLength only.
    BodyDecoder(BodyFraming framing, std::uint64_t length, const BodyLimits& limits = {});
    BodyDecoder(const RequestHead& head, const BodyLimits& limits = {})
        : BodyDecoder(head.framing(), head.content_length.value_or(0), limits) {}

    /// Consumes from the front of `in` up to the end of the next event; after kEnd and kRefused it
    /// repeats that.
    BodyEvent next(std::string_view& in);
    /// The connection ended: true when the body is complete, as one until close then is.
    bool finish();
    bool done() const { return state_ == State::kEnd; }

private:
    enum class State : std::uint8_t {
        kLength,
        kUntilClose,
        kSize,
        kSizeDigits,
        kExtension,
        kSizeLf,
        kChunk,
        kChunkCr,
        kChunkLf,
        kTrailerStart,
        kTrailerName,
        kTrailerValue,
        kTrailerLf,
        kLastLf,
        kEnd,
        kRefused,
    };

    BodyEvent take(std::string_view& in);
    void step(char c);
    void in_trailers(char c);
    void after_size(char c);
    void refuse(int status, std::string_view reason);
    void refuse_too_large() { refuse(413, "the body is larger than the limit"); }

    BodyLimits limits_;
    std::uint64_t left_ = 0;  // of the body or the current chunk
    std::uint64_t total_ = 0;  // of the sizes seen so far
    std::size_t extension_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    std::string_view reason_{};
    int status_ = 0;
    std::uint8_t digits_ = 0;
    State state_;
};

}  // namespace crab::net
