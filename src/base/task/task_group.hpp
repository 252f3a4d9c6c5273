#pragma once

#include "base/task/spawn.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>

namespace crab {

/// Owns spawned tasks and joins them. Used on its executor's thread. Declare it as the last member,
/// so that everything a task uses outlives it; call stop() before destruction.
class TaskGroup {
public:
    explicit TaskGroup(const Executor& executor) : executor_(executor) {}
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;
    ~TaskGroup();

    /// Runs `task` up to its first suspension. An exception is logged under `name`. `owner` is kept
    /// until the task has ended: pass the object that holds this group if the task may be its last
    /// user.
    void spawn(std::string name, Task<void> task, std::shared_ptr<void> owner = nullptr);
    /// Asks every task to end; each ends at its current wait.
    void cancel();
    /// cancel(), then calls `done`, which may destroy the group, when the last task has ended; at
    /// once if there is none.
    void stop(std::function<void()> done);
    std::size_t size() const { return running_.size(); }

private:
    struct Running {
        std::string name;
        CancelSignal signal;
    };

    Executor executor_;
    std::list<Running> running_;
    std::list<Running>::iterator next_ = running_.end();  ///< the next task for cancel()
    std::function<void()> on_empty_;
};

}  // namespace crab
