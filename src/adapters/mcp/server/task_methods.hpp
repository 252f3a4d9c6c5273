#pragma once

#include "adapters/mcp/server/askable_calls.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/tasks/task_table.hpp"

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// `object` of a task as a result of this type. Unlike in other results its `ttlMs` is its own.
Reply task_reply(const ClientRequest& request, std::string object, std::string_view type);

/// `tasks/get`, `tasks/update`, `tasks/cancel`, and the tasks of a listen stream. One per event
/// loop. Source: docs/protocols/mcp.md, section 4.7.
class TaskMethods {
public:
    static constexpr std::size_t kMostWatched = 256;  ///< by one listen stream

    TaskMethods(ServerState& state, AskableCalls& calls) : state_(state), calls_(calls) {}

    Task<Reply> answer(const ClientRequest& request);
    /// The tasks that `taskIds` of a listen stream names, as far as they are this principal's.
    /// Errors: what to answer instead.
    Task<std::expected<std::vector<TaskState>, Reply>> watched(const ClientRequest& request);

private:
    /// One that runs, or the state of one that has ended.
    struct Known {
        std::shared_ptr<LiveTask> live;
        TaskState state;
    };
    Task<Result<Known>> find(std::string id, const ClientRequest& request, Deadline deadline);
    Task<Result<void>> cancel(const std::string& id, const ClientRequest& request,
                              Deadline deadline);

    ServerState& state_;
    AskableCalls& calls_;
};

}  // namespace crab::mcp
