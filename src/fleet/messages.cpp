#include "fleet/messages.hpp"

#include "bus/little_endian.hpp"
#include "fleet/message_body.hpp"

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

constexpr std::size_t kIdSize = 16;
constexpr std::size_t kMostAcks = 4'096;

// The numbers of fields are the wire's.
constexpr std::uint8_t kBeatNumber = 4, kWhy = 5, kCopy = 6, kRevokedId = 7, kEvents = 8;

}  // namespace

void add_id(FieldWriter& body, ForwardId id) {
    std::string bytes;
    bus::append_little_endian(bytes, id.high);
    bus::append_little_endian(bytes, id.low);
    body.add_always(kIdField, bytes);
}

std::optional<ForwardId> id_of(std::string_view bytes) {
    if (bytes.size() != kIdSize) return std::nullopt;
    bus::Cursor cursor(bytes);
    ForwardId id;
    id.high = cursor.take<std::uint64_t>();
    id.low = cursor.take<std::uint64_t>();
    return id;
}

std::string to_wire(const Taken& taken) {
    FieldWriter body;
    add_id(body, taken.id);
    return body.take();
}

Result<Taken> parse_taken(std::string_view body) {
    const auto id = read_with_id(body, [](const FieldReader::Field&) {});
    if (!id) return unreadable("the message has no id");
    return Taken{*id};
}

std::string to_wire(const Refused& refused) {
    FieldWriter body;
    add_id(body, refused.id);
    body.add_number(kWhy, static_cast<std::uint64_t>(refused.why));
    body.add_number(kCopy, refused.copy);
    return body.take();
}

Result<Refused> parse_refused(std::string_view body) {
    std::uint64_t why = 0, copy = 0;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        if (field.number == kWhy) why = field.value();
        if (field.number == kCopy) copy = field.value();
    });
    if (!id || copy == 0 || why < static_cast<std::uint64_t>(Refusal::kGone) ||
        why > static_cast<std::uint64_t>(Refusal::kUnreadable))
        return unreadable("the refusal does not say what of");
    return Refused{.id = *id, .why = static_cast<Refusal>(why), .copy = copy};
}

std::string to_wire(const Ack& ack) {
    FieldWriter body;
    for (const ForwardId& id : ack.ids) add_id(body, id);
    return body.take();
}

Result<Ack> parse_ack(std::string_view body) {
    Ack ack;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        if (field.number != kIdField) return true;
        const auto id = id_of(field.bytes);
        if (!id || ack.ids.size() == kMostAcks) return false;
        ack.ids.push_back(*id);
        return true;
    });
    if (!whole) return unreadable("the message names no ends");
    return ack;
}

std::string to_wire(const Cancel& cancel) {
    FieldWriter body;
    add_id(body, cancel.id);
    body.add_number(kBeatNumber, cancel.beat);
    return body.take();
}

Result<Cancel> parse_cancel(std::string_view body) {
    Cancel cancel;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        if (field.number == kBeatNumber) cancel.beat = field.value();
    });
    if (!id) return unreadable("the message has no id");
    cancel.id = *id;
    return cancel;
}

std::string to_wire(const Beat& beat) {
    FieldWriter body;
    body.add_number(kBeatNumber, beat.number);
    return body.take();
}

Result<Beat> parse_beat(std::string_view body) {
    Beat beat;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        if (field.number == kBeatNumber) beat.number = field.value();
        return true;
    });
    if (!whole || beat.number == 0) return unreadable("the beat has no number");
    return beat;
}

std::string to_wire(const Hint& hint) {
    FieldWriter body;
    for (const std::string& id : hint.revoked) body.add(kRevokedId, id);
    if (hint.events) body.add_number(kEvents, 1);
    return body.take();
}

Result<Hint> parse_hint(std::string_view body) {
    constexpr std::size_t kLongestId = 64;
    Hint hint;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        if (field.number == kEvents) hint.events = field.value() == 1;
        if (field.number != kRevokedId) return true;
        if (field.bytes.size() > kLongestId || hint.revoked.size() == Hint::kMostRevoked)
            return false;
        hint.revoked.emplace_back(field.bytes);
        return true;
    });
    if (!whole) return unreadable("the message is no hint");
    return hint;
}

}  // namespace crab::fleet
