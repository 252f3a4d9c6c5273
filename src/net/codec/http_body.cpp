#include "net/codec/http_body.hpp"

#include "net/codec/http_text.hpp"

#include <algorithm>

namespace crab::net {
namespace {

constexpr std::uint8_t kMaxSizeDigits = 16;

}  // namespace

BodyDecoder::BodyDecoder(BodyFraming framing, std::uint64_t length, const BodyLimits& limits)
    : limits_(limits) {
    switch (framing) {
        case BodyFraming::kNone: state_ = State::kEnd; break;
        case BodyFraming::kLength:
            left_ = length;
            state_ = length == 0 ? State::kEnd : State::kLength;
            if (length > limits_.max_body_bytes) refuse_too_large();
            break;
        case BodyFraming::kChunked: state_ = State::kSize; break;
        case BodyFraming::kUntilClose:
            left_ = limits_.max_body_bytes;
            state_ = State::kUntilClose;
            break;
    }
}

BodyEvent BodyDecoder::next(std::string_view& in) {
    while (true) {
        switch (state_) {
            case State::kEnd: return {.kind = BodyEvent::Kind::kEnd};
            case State::kRefused:
                return {.kind = BodyEvent::Kind::kRefused,
                        .status = status_,
                        .data = {},
                        .reason = reason_};
            case State::kLength:
            case State::kUntilClose:
            case State::kChunk:
                if (in.empty()) return {};
                if (state_ == State::kUntilClose && left_ == 0) {
                    refuse_too_large();
                    break;
                }
                return take(in);
            case State::kSize:
            case State::kSizeDigits:
            case State::kExtension:
            case State::kSizeLf:
            case State::kChunkCr:
            case State::kChunkLf:
            case State::kTrailerStart:
            case State::kTrailerName:
            case State::kTrailerValue:
            case State::kTrailerLf:
            case State::kLastLf: {
                if (in.empty()) return {};
                const char c = in.front();
                in.remove_prefix(1);
                step(c);
                break;
            }
        }
    }
}

BodyEvent BodyDecoder::take(std::string_view& in) {
    const std::string_view piece = in.substr(0, std::min<std::uint64_t>(left_, in.size()));
    in.remove_prefix(piece.size());
    left_ -= piece.size();
    if (left_ == 0 && state_ == State::kLength) state_ = State::kEnd;
    if (left_ == 0 && state_ == State::kChunk) state_ = State::kChunkCr;
    return {.kind = BodyEvent::Kind::kData, .status = 0, .data = piece};
}

bool BodyDecoder::finish() {
    if (state_ == State::kUntilClose) state_ = State::kEnd;
    return state_ == State::kEnd;
}

// One byte between the chunks. White space around a size, sizes beyond 16 digits, bare LF and CR
// are refused: each of them has let one proxy see another body than the next.
void BodyDecoder::step(char c) {
    switch (state_) {
        case State::kSize:
            if (hex_value(c) < 0) return refuse(400, "a chunk does not start with its size");
            left_ = 0;
            digits_ = 0;
            state_ = State::kSizeDigits;
            [[fallthrough]];
        case State::kSizeDigits: return after_size(c);
        case State::kExtension:
            if (c == '\r') {
                state_ = State::kSizeLf;
            } else if (!has_class(c, kValueChar)) {
                refuse(400, "a chunk extension holds a control character");
            } else if (++extension_bytes_ > limits_.max_extension_bytes) {
                refuse(400, "the chunk extensions are longer than the limit");
            }
            return;
        case State::kSizeLf:
            if (c != '\n') return refuse(400, "a chunk size is not followed by CRLF");
            state_ = left_ == 0 ? State::kTrailerStart : State::kChunk;
            return;
        case State::kChunkCr:
            if (c != '\r') return refuse(400, "a chunk is longer than its size");
            state_ = State::kChunkLf;
            return;
        case State::kChunkLf:
            if (c != '\n') return refuse(400, "a chunk is not followed by CRLF");
            state_ = State::kSize;
            return;
        case State::kTrailerStart:
        case State::kTrailerName:
        case State::kTrailerValue:
        case State::kTrailerLf: return in_trailers(c);
        case State::kLastLf:
            if (c != '\n') return refuse(400, "the last chunk is not followed by CRLF");
            state_ = State::kEnd;
            return;
        case State::kLength:
        case State::kUntilClose:
        case State::kChunk:
        case State::kEnd:
        case State::kRefused: return;  // next() handles these without step()
    }
}

// One byte of what follows the last chunk, up to the empty line that ends it.
void BodyDecoder::in_trailers(char c) {
    if (state_ == State::kTrailerStart) {
        if (c == '\r') {
            state_ = State::kLastLf;
            return;
        }
        if (!has_class(c, kTokenChar)) return refuse(400, "a trailer has no valid name");
        state_ = State::kTrailerName;
    } else if (state_ == State::kTrailerName) {
        if (c == ':')
            state_ = State::kTrailerValue;
        else if (!has_class(c, kTokenChar))
            return refuse(400, "a trailer has no valid name");
    } else if (state_ == State::kTrailerValue) {
        if (c == '\r')
            state_ = State::kTrailerLf;
        else if (!has_class(c, kValueChar))
            return refuse(400, "a trailer holds a control character");
    } else {
        if (c != '\n') return refuse(400, "a trailer holds a CR without LF");
        state_ = State::kTrailerStart;
    }
    if (++trailer_bytes_ > limits_.max_trailer_bytes)
        refuse(431, "the trailers are larger than the limit");
}

void BodyDecoder::after_size(char c) {
    if (const int digit = hex_value(c); digit >= 0) {
        if (++digits_ > kMaxSizeDigits) return refuse(400, "a chunk size has too many digits");
        left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
        if (left_ > limits_.max_body_bytes - total_) refuse_too_large();
    } else if (c == ';' || c == '\r') {
        total_ += left_;
        state_ = c == ';' ? State::kExtension : State::kSizeLf;
    } else {
        refuse(400, "a chunk size is followed by something other than CRLF or an extension");
    }
}

void BodyDecoder::refuse(int status, std::string_view reason) {
    state_ = State::kRefused;
    status_ = status;
    reason_ = reason;
}

}  // namespace crab::net
