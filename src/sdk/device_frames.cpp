#include "sdk/device_frames.hpp"

#include "json/writer.hpp"
#include "sdk/answer_bytes.hpp"

#include <cmath>

namespace crab::sdk {
namespace {

constexpr std::string_view kReplace = "register_tools.replace";
constexpr std::string_view kAccepted = "tool_call_accepted";
constexpr std::string_view kProgress = "tool_call_progress";
constexpr std::string_view kResume = "tool_call_resume";
constexpr std::string_view kPresence = "presence";
constexpr std::string_view kSpoken[] = {kReplace,
                                        "unregister_tools",
                                        "tools_registered.rejected",
                                        "tool_call_request.deadline_ms",
                                        "tool_call_request.traceparent",
                                        "tool_call_cancel",
                                        kAccepted,
                                        kProgress,
                                        "artifacts",
                                        kResume,
                                        kPresence};

}  // namespace

GatewayTerms read_terms(json::Element connected) {
    GatewayTerms terms;
    if (const auto listed = json::get_array(connected, "capabilities")) {
        for (const json::Element item : *listed) {
            std::string_view name;
            if (item.get(name) != simdjson::SUCCESS) continue;
            terms.replaces_lists |= name == kReplace;
            terms.takes_accepted |= name == kAccepted;
            terms.takes_progress |= name == kProgress;
            terms.resumes |= name == kResume;
            terms.takes_presence |= name == kPresence;
        }
    }
    if (const auto bytes = json::get_int64(connected, "max_message_bytes"); bytes && *bytes > 0) {
        terms.max_message_bytes = static_cast<std::size_t>(*bytes);
    }
    if (const auto uploads = json::get(connected, "artifacts")) {
        const auto path = json::get_string(*uploads, "upload");
        const auto inline_bytes = json::get_int64(*uploads, "inline_bytes"),
                   max_bytes = json::get_int64(*uploads, "max_bytes");
        if (path && path->starts_with('/') && inline_bytes && max_bytes && *inline_bytes >= 0 &&
            *max_bytes > 0) {
            terms.uploads = {.path = std::string(*path),
                             .inline_bytes = static_cast<std::size_t>(*inline_bytes),
                             .max_bytes = static_cast<std::uint64_t>(*max_bytes)};
        }
    }
    if (const auto grace = json::get_int64(connected, "grace_ms"); grace && *grace >= 0)
        terms.grace = std::chrono::milliseconds(*grace);
    return terms;
}

std::string connect_frame(std::string_view device_name, std::string_view session_id,
                          std::string_view instance) {
    std::string frame;
    json::Writer writer(frame);
    writer.begin_object().key("type").string("connect").key("v").integer(1);
    if (!session_id.empty()) writer.key("session_id").string_lossy(session_id);
    if (!device_name.empty()) writer.key("device_name").string_lossy(device_name);
    writer.key("instance").string(instance).key("capabilities").begin_array();
    for (const std::string_view name : kSpoken) writer.string(name);
    writer.end_array().end_object();
    return frame;
}

std::string register_frame(std::span<const std::shared_ptr<const DeviceTool>> tools,
                           ListMode mode) {
    std::string frame;
    json::Writer writer(frame);
    writer.begin_object().key("type").string("register_tools");
    if (mode == ListMode::kReplace) writer.key("replace").boolean(true);
    writer.key("tools").begin_array();
    for (const auto& tool : tools) writer.raw(tool->element);
    writer.end_array().end_object();
    return frame;
}

std::string reply_frame(std::string_view call_id, const ToolAnswer& answer) {
    std::string frame;
    frame.reserve(answer.content().size() + 128);
    json::Writer writer(frame);
    const bool failed = answer.kind() == ToolAnswer::Kind::kError;
    writer.begin_object()
        .key("type")
        .string(failed ? "tool_error" : "tool_result")
        .key("id")
        .string(call_id);
    switch (answer.kind()) {
        case ToolAnswer::Kind::kText: writer.key("output").string_lossy(answer.content()); break;
        case ToolAnswer::Kind::kJson: writer.key("output").raw(answer.content()); break;
        case ToolAnswer::Kind::kBytes: writer.key("output").raw(inline_bytes(answer)); break;
        case ToolAnswer::Kind::kError: writer.key("error").string_lossy(answer.content()); break;
    }
    writer.key("success").boolean(!failed).end_object();
    return frame;
}

std::string artifact_frame(std::string_view call_id, std::string_view artifact_id) {
    std::string frame;
    json::Writer(frame)
        .begin_object()
        .key("type")
        .string("tool_result")
        .key("id")
        .string(call_id)
        .key("artifact")
        .string(artifact_id)
        .key("success")
        .boolean(true)
        .end_object();
    return frame;
}

std::string accepted_frame(std::string_view call_id) {
    std::string frame;
    json::Writer(frame)
        .begin_object()
        .key("type")
        .string(kAccepted)
        .key("id")
        .string(call_id)
        .end_object();
    return frame;
}

std::string presence_frame(const DevicePresence& presence) {
    std::string frame;
    json::Writer writer(frame);
    writer.begin_object().key("type").string(kPresence);
    if (presence.battery) writer.key("battery").number(*presence.battery);
    if (presence.charging) writer.key("charging").boolean(*presence.charging);
    if (presence.metered) writer.key("metered").boolean(*presence.metered);
    if (presence.foreground) writer.key("foreground").boolean(*presence.foreground);
    writer.end_object();
    return frame;
}

std::string progress_frame(std::string_view call_id, const ToolProgress& progress) {
    std::string frame;
    json::Writer writer(frame);
    writer.begin_object().key("type").string(kProgress).key("id").string(call_id);
    if (!progress.message.empty()) writer.key("message").string_lossy(progress.message);
    if (progress.progress && std::isfinite(*progress.progress))
        writer.key("progress").number(*progress.progress);
    if (progress.total && std::isfinite(*progress.total))
        writer.key("total").number(*progress.total);
    writer.end_object();
    return frame;
}

}  // namespace crab::sdk
