#pragma once

#include "base/clock.hpp"
#include "json/value.hpp"

#include "crab/call_context.hpp"
#include "crab/tool_request.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::sdk {

/// The tenant, agent, session and span of a call, as received.
struct CallOrigin {
    std::string tenant_id{};
    CallContext context{.agent_id = {}, .session_id = {}};
    std::string traceparent{};  ///< a malformed one is ignored
};

/// The shared state of a ToolRequest: one call, used by the link, the handler's thread and copies
/// of the request.
class CallState {
public:
    /// Takes progress from any thread.
    using OnProgress = std::function<void(const std::string& call_id, ToolProgress progress)>;

    CallState(std::string id, std::string tool, std::string args, Deadline deadline,
              OnProgress on_progress, CallOrigin origin = {})
        : id_(std::move(id)),
          tool_(std::move(tool)),
          args_(std::move(args)),
          deadline_(deadline),
          on_progress_(std::move(on_progress)),
          origin_(checked(std::move(origin))) {}

    const std::string& id() const { return id_; }
    const std::string& tool() const { return tool_; }
    const std::string& args() const { return args_; }
    Deadline deadline() const { return deadline_; }
    const CallOrigin& origin() const { return origin_; }

    /// The top-level argument, or nullptr. Parses the arguments the first time.
    const json::Value* find(std::string_view name);

    bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
    void cancel();
    void on_cancel(std::function<void()> callback);
    void progress(ToolProgress progress) {
        if (!cancelled() && on_progress_) on_progress_(id_, std::move(progress));
    }

    /// Beyond kMostLogs lines, and beyond kMostLogBytes of a line, nothing is kept.
    void log(std::string line);
    std::vector<std::string> take_logs();

private:
    static CallOrigin checked(CallOrigin origin);
    static constexpr std::size_t kMostLogs = 100;
    static constexpr std::size_t kMostLogBytes = 4096;
    const std::string id_, tool_, args_;
    const Deadline deadline_;
    const OnProgress on_progress_;
    const CallOrigin origin_;
    std::once_flag parse_once_;
    json::Value parsed_;
    std::atomic<bool> cancelled_{false};
    std::mutex mutex_;
    std::vector<std::function<void()>> callbacks_;
    std::vector<std::string> logs_;
};

}  // namespace crab::sdk
