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

/// What is known of a call that runs now.
struct RunningCallInfo {
    std::string call_id, tool, principal, tenant, front;
    Stage stage = Stage::kReceived;
    SystemTime started_at;
    Milliseconds elapsed{0};
};

/// The calls that one event loop is working on. Entries are added and removed on that loop; listing
/// and cancelling work from any thread.
class RunningCalls {
public:
    RunningCalls(const Executor& home, const Clock& clock) : home_(home), clock_(clock) {}

    /// Keeps one call in the list for its lifetime.
    class Entry {
    public:
        Entry(RunningCalls& list, const Call& call, const Principal& principal);
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        /// An operator or the owner asked for the end, by id.
        bool cancelled_by_id() const { return cancelled_; }
        /// The principal who asked; empty when nobody did, or it was not said.
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
    std::size_t size() const;
    /// Asks the calls with this id to end; `allowed` says whether the asker, the principal `by`,
    /// may. Returns how many there were.
    std::size_t cancel(
        std::string_view call_id,
        const std::function<bool(const Principal&, std::string_view tenant)>& allowed,
        std::string_view by = {});

private:
    Executor home_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    Entry* first_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace crab::core
