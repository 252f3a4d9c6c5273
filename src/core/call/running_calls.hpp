#pragma once

#include "base/task/task.hpp"
#include "core/call/call.hpp"
#include "core/call/tool.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// Information about a running call.
struct RunningCallInfo {
    std::string call_id, tool, principal, tenant, front;
    Stage stage = Stage::kReceived;
    SystemTime started_at;
    Milliseconds elapsed{0};
};

/// The calls that run on one event loop. Entries are added and removed on that loop; listing and
/// cancelling are thread-safe.
class RunningCalls {
public:
    RunningCalls(const Executor& home, const Clock& clock) : home_(home), clock_(clock) {}

    /// Lists one call for its lifetime.
    class Entry {
    public:
        Entry(RunningCalls& list, const Call& call, const Principal& principal);
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        /// Whether it was cancelled by id.
        bool cancelled_by_id() const { return cancelled_; }
        /// The principal that cancelled it; may be empty.
        const std::string& cancelled_by() const { return cancelled_by_; }
        void reach(Stage stage) { stage_ = stage; }

    private:
        friend class RunningCalls;
        RunningCalls& list_;
        const Call& call_;
        const Principal& principal_;
        std::atomic<Stage> stage_{Stage::kReceived};
        bool cancelled_ = false;
        std::string cancelled_by_;
        Entry* next_ = nullptr;
        Entry* previous_ = nullptr;
    };

    std::vector<RunningCallInfo> list() const;
    /// The `most` that began first, in the order in which they began.
    std::vector<RunningCallInfo> oldest(std::size_t most) const;
    std::size_t size() const;
    /// Cancels the calls with this id that `allowed` permits the principal `by` to cancel. Returns
    /// how many.
    std::size_t cancel(
        std::string_view call_id,
        const std::function<bool(const Principal&, std::string_view tenant)>& allowed,
        std::string_view by = {});

private:
    static RunningCallInfo info_of(const Entry& entry, SteadyTime now);

    Executor home_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    Entry* first_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace crab::core
