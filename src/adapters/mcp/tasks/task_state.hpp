#pragma once

#include "adapters/mcp/wire/rpc_error.hpp"
#include "base/clock.hpp"
#include "core/ledger/call_task_store.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Source: docs/protocols/mcp.md, section 4.7.
namespace crab::mcp {

enum class TaskStatus : std::uint8_t { kWorking, kInputRequired, kCompleted, kFailed, kCancelled };
std::string_view name_of(TaskStatus status);
constexpr bool has_ended(TaskStatus status) { return status >= TaskStatus::kCompleted; }

/// What a client is told of a task.
struct TaskState {
    std::string id;
    TaskStatus status = TaskStatus::kWorking;
    std::string message;  ///< may be empty
    SystemTime created, updated;
    std::string input_requests;  ///< an object: what is open; of kInputRequired
    std::string outcome;  ///< of kCompleted the result, of kFailed the error: objects
};
/// Of a row that has ended.
TaskState state_of(const core::CallTask& row);

/// The same for all tasks of a gateway.
struct TaskTimes {
    Milliseconds ttl = std::chrono::hours(24);
    Milliseconds poll{2'000};
};
/// The members of `CreateTaskResult`, without `resultType`: nothing of input and outcome.
std::string created_object(const TaskState& state, const TaskTimes& times);
/// What `tasks/get` and `notifications/tasks` have.
std::string detailed_object(const TaskState& state, const TaskTimes& times);
/// A JSON-RPC error as the outcome of a failed task.
std::string error_object(const RpcError& error);

}  // namespace crab::mcp
