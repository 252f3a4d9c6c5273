#include "net/codec/websocket_decoder.hpp"

#include "net/codec/websocket_deflate.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace crab::net {
namespace {

constexpr std::uint8_t kFin = 0x80, kRsv1 = 0x40, kRsv23 = 0x30, kOpcodeBits = 0x0f, kMasked = 0x80,
                       kLengthBits = 0x7f;
constexpr std::size_t kMaxControl = 125;
// times the limit: a frame that is larger is refused by its length alone
constexpr std::size_t kMostExcess = 16;

std::size_t header_bytes(std::uint8_t second) {
    const std::uint8_t length = second & kLengthBits;
    return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + ((second & kMasked) != 0 ? 4 : 0);
}

bool is_known(std::uint8_t opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::uint64_t read_big_endian(const char* at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(at[i]);
    return value;
}

void release(std::string& text) { std::string().swap(text); }

}  // namespace

WebSocketEvent WebSocketDecoder::next(std::span<char>& in) {
    if (state_ == State::kDelivered) {
        if (!in_message()) release(message_);
        release(control_);
        state_ = State::kHeader;
    }
    while (true) {
        if (state_ == State::kOver) {
            in = in.last(0);
            return {};
        }
        if (state_ == State::kHeader) {
            WebSocketEvent event;
            if (!read_header(in, event)) return event;
            state_ = State::kPayload;
        }
        const WebSocketEvent event = read_payload(in);
        if (event.kind != Kind::kNeedMore || in.empty()) return event;
    }
}

// True once the header of a frame is understood; otherwise more bytes are needed or `event` says
// what is wrong with it.
bool WebSocketDecoder::read_header(std::span<char>& in, WebSocketEvent& event) {
    const char* at = in.data();
    std::size_t available = in.size();
    if (header_size_ != 0) {  // join with what came before; at most 14 bytes, so no cleverness
        const std::size_t taken = std::min(in.size(), header_.size() - header_size_);
        std::memcpy(header_.data() + header_size_, in.data(), taken);
        at = header_.data();
        available = header_size_ + taken;
    }
    if (available >= 2 && !check_first_bytes(static_cast<std::uint8_t>(at[0]),
                                             static_cast<std::uint8_t>(at[1]), event)) {
        event = violation(event.code, event.payload);
        return false;
    }
    const std::size_t needed = available >= 2 ? header_bytes(static_cast<std::uint8_t>(at[1])) : 2;
    if (available < needed) {
        if (!in.empty()) std::memmove(header_.data(), at, available);
        header_size_ = static_cast<std::uint8_t>(available);
        in = in.last(0);
        return false;
    }
    const auto first = static_cast<std::uint8_t>(at[0]);
    const auto second = static_cast<std::uint8_t>(at[1]);
    const std::uint8_t tag = second & kLengthBits;
    const std::size_t length_bytes = tag == 126 ? 2 : tag == 127 ? 8 : 0;
    const std::uint64_t length = length_bytes == 0 ? tag : read_big_endian(at + 2, length_bytes);
    if ((tag == 126 && length < 126) || (tag == 127 && length <= 0xffff)) {
        return event = violation(close_code::kProtocolError,
                                 "a frame length is not in its shortest form"),
               false;
    }
    if (length >> 63 != 0)
        return event =
                   violation(close_code::kProtocolError, "a frame length has its highest bit set"),
               false;
    opcode_ = static_cast<Opcode>(first & kOpcodeBits);
    fin_ = (first & kFin) != 0;
    if (opcode_ == Opcode::kText || opcode_ == Opcode::kBinary) {
        message_opcode_ = opcode_;
        compressed_ = (first & kRsv1) != 0;
    }
    if (!is_control() && !excess_ && length > options_.max_message_bytes - message_.size()) {
        const bool endless = length / kMostExcess > options_.max_message_bytes;
        if (compressed_ || endless)
            return event = violation(close_code::kTooBig, "the message is larger than the limit"),
                   false;
        excess_ = true;
    }
    if ((second & kMasked) != 0) std::memcpy(&mask_, at + 2 + length_bytes, sizeof mask_);
    left_ = length;
    in = in.subspan(needed - header_size_);
    header_size_ = 0;
    return true;
}

// What can be said about a frame before its length is known.
bool WebSocketDecoder::check_first_bytes(std::uint8_t first, std::uint8_t second,
                                         WebSocketEvent& event) const {
    const auto broken = [&](std::string_view reason) {
        event = {.kind = Kind::kViolation, .code = close_code::kProtocolError, .payload = reason};
        return false;
    };
    const std::uint8_t opcode = first & kOpcodeBits;
    if (!is_known(opcode)) return broken("a frame has an unknown opcode");
    if ((first & kRsv23) != 0) return broken("a frame has a reserved bit set");
    if ((first & kRsv1) != 0 && (!options_.inflater || opcode == 0 || opcode >= 8))
        return broken("a frame has the compression bit set where it means nothing");
    if (((second & kMasked) != 0) != (options_.role == Role::kServer)) {
        return broken(options_.role == Role::kServer ? "a frame of the client is not masked"
                                                     : "a frame of the server is masked");
    }
    if (opcode >= 8) {
        if ((first & kFin) == 0) return broken("a control frame is fragmented");
        if ((second & kLengthBits) > kMaxControl)
            return broken("a control frame is longer than 125 bytes");
    } else if ((opcode == 0) != in_message()) {
        return broken(opcode == 0 ? "a continuation without a message"
                                  : "a new message before the previous one ended");
    }
    return true;
}

// What was kept of it first, be it nothing, then whatever comes.
WebSocketEvent WebSocketDecoder::pass_excess(std::span<char>& in) {
    if (!std::exchange(excess_shown_, true)) return {.kind = Kind::kExcess, .payload = message_};
    release(message_);
    const std::span<char> part = in.first(std::min<std::uint64_t>(left_, in.size()));
    in = in.subspan(part.size());
    left_ -= part.size();
    if (options_.role == Role::kServer) mask_ = apply_mask(part, mask_);
    if (left_ == 0) state_ = State::kHeader;
    const bool last = left_ == 0 && fin_;
    if (last) {
        excess_ = excess_shown_ = false;
        message_opcode_ = Opcode::kContinuation;
    }
    if (part.empty() && !last) return {};
    return {.kind = Kind::kExcess, .payload = {part.data(), part.size()}, .last = last};
}

WebSocketEvent WebSocketDecoder::read_payload(std::span<char>& in) {
    if (excess_ && !is_control()) return pass_excess(in);
    const std::span<char> part = in.first(std::min<std::uint64_t>(left_, in.size()));
    in = in.subspan(part.size());
    left_ -= part.size();
    if (options_.role == Role::kServer) mask_ = apply_mask(part, mask_);
    std::string& kept = is_control() ? control_ : message_;
    const bool ends = left_ == 0 && fin_;
    if (ends && kept.empty()) return deliver({part.data(), part.size()});
    kept.append(part.data(), part.size());
    if (ends) return deliver(kept);
    if (left_ == 0) state_ = State::kHeader;
    return {};
}

WebSocketEvent WebSocketDecoder::deliver(std::string_view payload) {
    state_ = State::kDelivered;
    switch (opcode_) {
        case Opcode::kPing: return {.kind = Kind::kPing, .code = 0, .payload = payload};
        case Opcode::kPong: return {.kind = Kind::kPong, .code = 0, .payload = payload};
        case Opcode::kClose: return deliver_close(payload);
        case Opcode::kText:
        case Opcode::kBinary:
        case Opcode::kContinuation: return deliver_message(payload);
    }
    std::unreachable();
}

WebSocketEvent WebSocketDecoder::deliver_message(std::string_view payload) {
    const Opcode opcode = std::exchange(message_opcode_, Opcode::kContinuation);
    if (compressed_) {
        std::string inflated;
        switch (options_.inflater->inflate(payload, options_.max_message_bytes, inflated)) {
            case MessageInflater::Outcome::kDone: break;
            case MessageInflater::Outcome::kTooBig:
                message_ = std::move(inflated);  // its beginning
                return {.kind = Kind::kExcess, .payload = message_, .last = true};
            case MessageInflater::Outcome::kBroken:
                return violation(close_code::kNotUtf8, "the compressed message is broken");
        }
        message_ = std::move(inflated);
        payload = message_;
    }
    if (opcode == Opcode::kBinary) return {.kind = Kind::kBinary, .code = 0, .payload = payload};
    if (!simdjson::validate_utf8(payload.data(), payload.size()))
        return violation(close_code::kNotUtf8, "a text message is not UTF-8");
    return {.kind = Kind::kText, .code = 0, .payload = payload};
}

WebSocketEvent WebSocketDecoder::deliver_close(std::string_view payload) {
    state_ = State::kOver;
    release(message_);
    if (payload.empty()) return {.kind = Kind::kClose, .code = close_code::kNoStatus};
    if (payload.size() == 1)
        return violation(close_code::kProtocolError, "a close frame with half a code");
    const auto code = static_cast<std::uint16_t>(read_big_endian(payload.data(), 2));
    if (!is_sendable_close_code(code))
        return violation(close_code::kProtocolError,
                         "a close frame with a code that may not be sent");
    const std::string_view reason = payload.substr(2);
    if (!simdjson::validate_utf8(reason.data(), reason.size()))
        return violation(close_code::kNotUtf8, "a close reason is not UTF-8");
    return {.kind = Kind::kClose, .code = code, .payload = reason};
}

WebSocketEvent WebSocketDecoder::violation(std::uint16_t code, std::string_view reason) {
    state_ = State::kOver;
    release(message_);
    release(control_);
    header_size_ = 0;
    return {.kind = Kind::kViolation, .code = code, .payload = reason};
}

}  // namespace crab::net
