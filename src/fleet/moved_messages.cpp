#include "fleet/moved_messages.hpp"

#include "fleet/message_body.hpp"

#include <utility>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

/// The numbers of fields are the wire's.
struct MovedField {
    static constexpr std::uint8_t kPrincipal = 2, kChat = 3, kBeat = 4, kInstance = 5;
    static constexpr std::uint8_t kConnection = 6, kRequest = 7, kTool = 8, kArgs = 9, kCaller = 10;
    static constexpr std::uint8_t kAgent = 11, kTraceparent = 12, kSays = 13, kFrame = 14;
};

void add_device(FieldWriter& body, const DeviceProcess& device) {
    body.add(MovedField::kPrincipal, device.principal);
    body.add(MovedField::kChat, device.chat);
    body.add(MovedField::kInstance, device.instance);
}

void read_device(const FieldReader::Field& field, DeviceProcess& device) {
    if (field.number == MovedField::kPrincipal) device.principal = field.bytes;
    if (field.number == MovedField::kChat) device.chat = field.bytes;
    if (field.number == MovedField::kInstance) device.instance = field.bytes;
}

bool is_name(const std::string& text, std::size_t longest) {
    return !text.empty() && text.size() <= longest;
}

bool is_whole(const DeviceProcess& device) {
    constexpr std::size_t kLongest = DeviceProcess::kLongestPart;
    return is_name(device.principal, kLongest) && is_name(device.chat, kLongest) &&
           is_name(device.instance, kLongest);
}

}  // namespace

std::string to_wire(const Moved& moved) {
    FieldWriter body;
    add_device(body, moved.device);
    body.add_number(MovedField::kConnection, moved.connection);
    return body.take();
}

Result<Moved> parse_moved(std::string_view body) {
    Moved moved;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        read_device(field, moved.device);
        if (field.number == MovedField::kConnection) moved.connection = field.value();
        return true;
    });
    if (!whole || !is_whole(moved.device)) return unreadable("the message names no device");
    return moved;
}

std::string to_wire(const Resume& resume) {
    FieldWriter body;
    add_device(body, resume.device);
    body.add_number(MovedField::kConnection, resume.connection);
    body.add_number(MovedField::kBeat, resume.beat);
    body.add(MovedField::kRequest, resume.request.id);
    body.add(MovedField::kTool, resume.request.tool);
    body.add(MovedField::kArgs, resume.request.args);
    body.add(MovedField::kCaller, resume.request.caller);
    body.add(MovedField::kAgent, resume.request.agent);
    body.add(MovedField::kTraceparent, resume.request.traceparent);
    return body.take();
}

Result<Resume> parse_resume(std::string_view body) {
    Resume resume;
    DeviceRequest& request = resume.request;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        read_device(field, resume.device);
        if (field.number == MovedField::kConnection) resume.connection = field.value();
        if (field.number == MovedField::kBeat) resume.beat = field.value();
        if (field.number == MovedField::kRequest) request.id = field.bytes;
        if (field.number == MovedField::kTool) request.tool = field.bytes;
        if (field.number == MovedField::kArgs) request.args = field.bytes;
        if (field.number == MovedField::kCaller) request.caller = field.bytes;
        if (field.number == MovedField::kAgent) request.agent = field.bytes;
        if (field.number == MovedField::kTraceparent) request.traceparent = field.bytes;
        return true;
    });
    if (!whole || !is_whole(resume.device) || !is_name(request.id, DeviceRequest::kLongestId))
        return unreadable("the message names no request");
    return resume;
}

std::string to_wire(const Reply& reply) {
    FieldWriter body;
    body.add(MovedField::kRequest, reply.id);
    body.add_number(MovedField::kConnection, reply.connection);
    body.add_number(MovedField::kSays, static_cast<std::uint64_t>(reply.says));
    body.add(MovedField::kFrame, reply.frame);
    return body.take();
}

Result<Reply> parse_reply(std::string_view body) {
    Reply reply;
    std::uint64_t says = 0;
    const bool whole = each_field(body, [&](const FieldReader::Field& field) {
        if (field.number == MovedField::kRequest) reply.id = field.bytes;
        if (field.number == MovedField::kConnection) reply.connection = field.value();
        if (field.number == MovedField::kSays) says = field.value();
        if (field.number == MovedField::kFrame) reply.frame = field.bytes;
        return true;
    });
    if (!whole || !is_name(reply.id, DeviceRequest::kLongestId) ||
        says < std::to_underlying(Reply::Says::kLinked) ||
        says > std::to_underlying(Reply::Says::kProgress))
        return unreadable("the reply does not say what to");
    reply.says = static_cast<Reply::Says>(says);
    if (reply.has_frame() == reply.frame.empty())
        return unreadable("an answer and progress have a frame, and nothing else has");
    return reply;
}

}  // namespace crab::fleet
