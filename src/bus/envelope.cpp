#include "bus/envelope.hpp"

#include "bus/little_endian.hpp"

namespace crab::bus {
namespace {

constexpr std::uint16_t kMostNode = 4095;
constexpr std::uint8_t kMostLoop = 63;

bool is_kind(std::uint8_t kind) {
    return kind >= static_cast<std::uint8_t>(Kind::kForward) &&
           kind <= static_cast<std::uint8_t>(Kind::kLinks);
}

bool is_sender(const Place& place) {
    return place.node >= 1 && place.node <= kMostNode && place.loop <= kMostLoop && place.boot != 0;
}
/// All that broadcasts name is nothing.
bool is_receiver(const Place& place) { return place == Place{} || is_sender(place); }

std::unexpected<Error> malformed(const char* what) { return fail(ErrorCode::kInvalidArgs, what); }

}  // namespace

std::string_view name_of(Kind kind) {
    switch (kind) {
        case Kind::kForward: return "FORWARD";
        case Kind::kTaken: return "TAKEN";
        case Kind::kRefused: return "REFUSED";
        case Kind::kProgress: return "PROGRESS";
        case Kind::kFrame: return "FRAME";
        case Kind::kCredit: return "CREDIT";
        case Kind::kResult: return "RESULT";
        case Kind::kAck: return "ACK";
        case Kind::kCancel: return "CANCEL";
        case Kind::kReply: return "REPLY";
        case Kind::kWanted: return "WANTED";
        case Kind::kMoved: return "MOVED";
        case Kind::kResume: return "RESUME";
        case Kind::kFind: return "FIND";
        case Kind::kFound: return "FOUND";
        case Kind::kBeat: return "BEAT";
        case Kind::kHint: return "HINT";
        case Kind::kLinks: return "LINKS";
    }
    return "";
}

std::string to_wire(const Envelope& envelope, std::string_view body) {
    std::string out;
    out.reserve(kHeadSize + body.size() + kMacSize);
    append_little_endian(out, kVersion);
    append_little_endian(out, static_cast<std::uint8_t>(envelope.kind));
    append_little_endian(out, envelope.flags);
    append_little_endian(out, envelope.key);
    append_little_endian(out, envelope.from.node);
    append_little_endian(out, envelope.to.node);
    append_little_endian(out, envelope.from.loop);
    append_little_endian(out, envelope.to.loop);
    append_little_endian(out, envelope.part);
    append_little_endian(out, envelope.from.boot);
    append_little_endian(out, envelope.to.boot);
    append_little_endian(out, envelope.sequence);
    append_little_endian(out, envelope.tag);
    append_little_endian(out, envelope.ms_left);
    append_little_endian(out, static_cast<std::uint32_t>(body.size()));
    out += body;
    return out;
}

Result<Opened> parse_envelope(std::string_view message) {
    if (message.size() < kHeadSize) return malformed("the message is shorter than its head");
    if (message.size() > kMostMessage) return malformed("the message is too long");
    Cursor head(message.substr(0, kHeadSize));
    if (head.take<std::uint8_t>() != kVersion) return malformed("the message's version is unknown");
    const auto kind = head.take<std::uint8_t>();
    if (!is_kind(kind)) return malformed("the message's kind is unknown");
    Envelope envelope{.kind = static_cast<Kind>(kind)};
    envelope.flags = head.take<std::uint8_t>();
    envelope.key = head.take<std::uint8_t>();
    envelope.from.node = head.take<std::uint16_t>();
    envelope.to.node = head.take<std::uint16_t>();
    envelope.from.loop = head.take<std::uint8_t>();
    envelope.to.loop = head.take<std::uint8_t>();
    envelope.part = head.take<std::uint16_t>();
    envelope.from.boot = head.take<std::uint32_t>();
    envelope.to.boot = head.take<std::uint32_t>();
    envelope.sequence = head.take<std::uint64_t>();
    envelope.tag = head.take<std::uint64_t>();
    envelope.ms_left = head.take<std::uint32_t>();
    const auto length = head.take<std::uint32_t>();
    if (!is_sender(envelope.from)) return malformed("the message names no sender");
    if (!is_receiver(envelope.to)) return malformed("the message names no receiver");
    if (envelope.sequence == 0) return malformed("the message has no number");
    const std::string_view body = message.substr(kHeadSize);
    if (body.size() != length) return malformed("the message's length is not what its head says");
    return Opened{.envelope = envelope, .body = body};
}

}  // namespace crab::bus
