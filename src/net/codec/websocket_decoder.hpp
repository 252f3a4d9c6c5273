#pragma once

#include "net/codec/websocket_frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

class MessageInflater;

/// What the decoder saw next.
struct WebSocketEvent {
    enum class Kind : std::uint8_t {
        kNeedMore,
        kText,
        kBinary,
        kPing,
        kPong,
        kClose,
        kViolation,
        kExcess
    };

    Kind kind = Kind::kNeedMore;
    /// kClose: the peer's code, 1005 when it sent none; kViolation: ours to close with
    std::uint16_t code = 0;
    /// The message or control payload; kClose and kViolation: the reason; kExcess: a piece of it
    std::string_view payload{};
    bool last = false;  ///< kExcess: the message is over
};

/// Turns the bytes of one WebSocket connection into whole messages and control frames (RFC 6455
/// section 5, RFC 7692).
///
/// Feed it like this; `in` is what was just read and may be overwritten afterwards:
///
///     for (auto event = decoder.next(in); event.kind != kNeedMore; event = decoder.next(in))
///     handle(event);
///
/// A complete frame that is a whole message is a view into `in`, unmasked in place. Everything else
/// is collected in the decoder's own buffer, which the following next() gives back: a connection
/// between messages owns no memory. A payload is valid until the following next() and as long as
/// `in`'s bytes are. After kClose and kViolation the rest is swallowed. A message that passes the
/// limit comes as kExcess, piece by piece from its first byte to its last, as soon as a header says
/// so and without being kept; who wants no more of it closes with 1009.
class WebSocketDecoder {
public:
    /// A server expects masked frames, a client unmasked ones
    enum class Role : std::uint8_t { kServer, kClient };

    struct Options {
        Role role = Role::kServer;
        std::size_t max_message_bytes = 8 * 1024 * 1024;  ///< after reassembly and inflation
        /// The thread's, when compression was negotiated; outlives this
        MessageInflater* inflater = nullptr;
    };

    explicit WebSocketDecoder(const Options& options) : options_(options) {}

    /// Consumes from the front of `in` up to the end of the next event.
    WebSocketEvent next(std::span<char>& in);

    /// Bytes kept for a message that is not complete.
    std::size_t buffered_bytes() const { return message_.size() + control_.size() + header_size_; }

private:
    using Kind = WebSocketEvent::Kind;
    enum class State : std::uint8_t { kHeader, kPayload, kDelivered, kOver };

    bool read_header(std::span<char>& in, WebSocketEvent& event);
    bool check_first_bytes(std::uint8_t first, std::uint8_t second, WebSocketEvent& event) const;
    WebSocketEvent read_payload(std::span<char>& in);
    WebSocketEvent pass_excess(std::span<char>& in);
    WebSocketEvent deliver(std::string_view payload);
    WebSocketEvent deliver_message(std::string_view payload);
    WebSocketEvent deliver_close(std::string_view payload);
    WebSocketEvent violation(std::uint16_t code, std::string_view reason);
    bool in_message() const { return message_opcode_ != Opcode::kContinuation; }
    bool is_control() const { return static_cast<std::uint8_t>(opcode_) >= 8; }

    Options options_;
    std::string message_;  // of the fragmented or partly received message
    // of the partly received control frame, which may come between two fragments
    std::string control_;
    std::uint64_t left_ = 0;  // payload bytes of the current frame still to come
    std::uint32_t mask_ = 0;  // turned for the next of them
    std::array<char, 14> header_{};
    std::uint8_t header_size_ = 0;  // bytes of a partly received header
    State state_ = State::kHeader;
    Opcode opcode_ = Opcode::kContinuation;  // of the current frame
    // of the current message; kContinuation outside of one
    Opcode message_opcode_ = Opcode::kContinuation;
    bool fin_ = false;
    bool compressed_ = false;  // the current message
    bool excess_ = false;  // the current message is too large
    bool excess_shown_ = false;  // what was kept of it was given
};

static_assert(sizeof(WebSocketDecoder) <= 144, "an idle connection pays for this");

}  // namespace crab::net
