#include "adapters/mcp/tasks/task_state.hpp"

#include "json/writer.hpp"

#include <algorithm>
#include <array>

namespace crab::mcp {
namespace {

constexpr std::array<std::string_view, 5> kNames{"working", "input_required", "completed", "failed",
                                                 "cancelled"};

void write_basics(json::Writer& writer, const TaskState& state, const TaskTimes& times) {
    writer.key("taskId").string(state.id).key("status").string(name_of(state.status));
    if (!state.message.empty()) writer.key("statusMessage").string_lossy(state.message);
    writer.key("createdAt").string(to_rfc3339(state.created));
    writer.key("lastUpdatedAt").string(to_rfc3339(state.updated));
    writer.key("ttlMs").integer(times.ttl.count());
    writer.key("pollIntervalMs").integer(times.poll.count());
}

}  // namespace

std::string_view name_of(TaskStatus status) { return kNames[static_cast<std::size_t>(status)]; }

TaskState state_of(const core::CallTask& row) {
    const auto* const found = std::ranges::find(kNames, row.status);
    return {.id = row.id,
            .status = found == kNames.end() ? TaskStatus::kCancelled
                                            : static_cast<TaskStatus>(found - kNames.begin()),
            .message = {},
            .created = row.created,
            .updated = row.updated,
            .input_requests = {},
            .outcome = row.outcome};
}

std::string created_object(const TaskState& state, const TaskTimes& times) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    write_basics(writer, state, times);
    writer.end_object();
    return out;
}

std::string detailed_object(const TaskState& state, const TaskTimes& times) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    write_basics(writer, state, times);
    if (state.status == TaskStatus::kInputRequired)
        writer.key("inputRequests").raw(state.input_requests);
    if (state.status == TaskStatus::kCompleted) writer.key("result").raw(state.outcome);
    if (state.status == TaskStatus::kFailed) writer.key("error").raw(state.outcome);
    writer.end_object();
    return out;
}

std::string error_object(const RpcError& error) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("code").integer(error.code);
    writer.key("message").string_lossy(error.message);
    if (!error.data.empty()) writer.key("data").raw(error.data);
    writer.end_object();
    return out;
}

}  // namespace crab::mcp
