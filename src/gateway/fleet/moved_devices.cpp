#include "gateway/fleet/moved_devices.hpp"

#include "adapters/clawseed/wire.hpp"

#include <utility>

namespace crab::gateway {
namespace {

fleet::Reply::Says to_fleet(clawseed::WordToOther::Kind kind) {
    using Kind = clawseed::WordToOther::Kind;
    using Says = fleet::Reply::Says;
    switch (kind) {
        case Kind::kLinked: return Says::kLinked;
        case Kind::kGone: return Says::kGone;
        case Kind::kAnswer: return Says::kAnswer;
        case Kind::kProgress: return Says::kProgress;
        case Kind::kTooLong: break;
    }
    return Says::kTooLong;
}

core::Outcome too_long() {
    return fail(ErrorCode::kOversize,
                "the call has run, and the device's answer, which came at another node of the "
                "fleet, is longer than one hands to another, or is not readable");
}

}  // namespace

MovedDevices::MovedDevices(clawseed::Hub& hub, fleet::MovedCalls& moved, net::EventLoop& first)
    : hub_(hub), moved_(moved), first_(first), parser_(json::Limits{.max_bytes = bus::kMostBody}) {
    moved_.open(*this, *this);
    hub_.set_other_nodes(this);
}

void MovedDevices::stop() {
    hub_.set_other_nodes(nullptr);
    moved_.close();
}

std::vector<fleet::MovedCalls::Waiting::Out> MovedDevices::unanswered(
    const fleet::DeviceProcess& device) {
    std::vector<Out> out;
    const auto replies = hub_.find_replies(device.principal, device.chat);
    if (!replies) return out;
    for (auto& call : replies->unanswered(device.instance)) {
        out.push_back({.request = {.id = std::string(call.id.view()),
                                   .tool = std::move(call.tool),
                                   .args = std::move(call.args),
                                   .caller = std::move(call.principal),
                                   .agent = std::move(call.agent),
                                   .traceparent = std::move(call.traceparent)},
                       .deadline = call.deadline,
                       .right = call.right});
    }
    return out;
}

bool MovedDevices::waits(const fleet::DeviceProcess& device, std::string_view id) {
    const auto replies = hub_.find_replies(device.principal, device.chat);
    return replies && replies->waits_for(id);
}

void MovedDevices::set_held(const fleet::DeviceProcess& device, std::string_view id, bool held) {
    if (const auto replies = hub_.find_replies(device.principal, device.chat))
        replies->set_held_elsewhere(id, held, first_.clock().steady_now());
}

core::Outcome MovedDevices::read(std::string_view frame) {
    const auto root = parser_.parse(frame);
    if (!root) return too_long();
    const clawseed::ReplyMembers reply = clawseed::read_reply(*root);
    if (json::get_string(root->element(), "type") == "tool_error")
        return clawseed::parse_tool_error(reply);
    // Its file is at the node to which the device has brought it.
    if (reply.artifact && reply.success.value_or(true))
        return fail(ErrorCode::kInternal,
                    "the call has run, and the device's result is a file at another node of the "
                    "fleet than the one at which the call waits");
    return clawseed::parse_tool_result(*root, reply);
}

void MovedDevices::answer(const fleet::DeviceProcess& device, std::string_view id,
                          std::optional<std::string> frame, std::function<void()> kept) {
    const auto replies = hub_.find_replies(device.principal, device.chat);
    if (!replies || !replies->is_named(id)) {
        if (replies) replies->resolve(id, frame ? read(*frame) : too_long());
        return kept();
    }
    replies->acknowledge_later(id, [&first = first_, tell = std::move(kept)] { first.post(tell); });
    replies->resolve(id, frame ? read(*frame) : too_long());
}

void MovedDevices::progress(const fleet::DeviceProcess& device, std::string_view id,
                            const std::string& frame) {
    const auto replies = hub_.find_replies(device.principal, device.chat);
    const auto root = parser_.parse(frame);
    if (!replies || !root || !replies->waits_for(id)) return;
    if (const auto tag = replies->tag_of(id))
        replies->progress(*tag, clawseed::parse_progress(root->element()),
                          first_.clock().steady_now());
}

void MovedDevices::on_resume(const bus::Place& asker, std::uint8_t flags, fleet::Resume resume,
                             Deadline deadline) {
    const auto connection = static_cast<ConnectionId>(resume.connection);
    fleet::DeviceRequest& request = resume.request;
    if ((flags & fleet::kHaveAnswer) != 0)
        return hub_.heard_by_other(connection, std::move(request.id));
    if ((flags & fleet::kGivenUp) != 0)
        return hub_.cancel_for_other(connection, std::move(request.id));
    auto tell = [this, asker, id = request.id,
                 link = resume.connection](clawseed::WordToOther word) {
        first_.post([this, asker, id, link, word = std::move(word)]() mutable {
            moved_.tell(asker, {.id = id,
                                .connection = link,
                                .says = to_fleet(word.kind),
                                .frame = std::move(word.frame)});
        });
    };
    hub_.ask_for_other(connection,
                       {.principal = std::move(resume.device.principal),
                        .chat = std::move(resume.device.chat),
                        .instance = std::move(resume.device.instance),
                        .id = std::move(request.id),
                        .tool = std::move(request.tool),
                        .args = std::move(request.args),
                        .caller = std::move(request.caller),
                        .agent = std::move(request.agent),
                        .traceparent = std::move(request.traceparent),
                        .deadline = deadline,
                        .asked_before = (flags & fleet::kAskedBefore) != 0},
                       std::move(tell));
}

void MovedDevices::arrived(ConnectionId connection, std::string principal, std::string chat,
                           std::string instance) {
    first_.post([this, moved = fleet::Moved{.device = {.principal = std::move(principal),
                                                       .chat = std::move(chat),
                                                       .instance = std::move(instance)},
                                            .connection = std::to_underlying(connection)}] {
        moved_.announce(moved);
    });
}

}  // namespace crab::gateway
