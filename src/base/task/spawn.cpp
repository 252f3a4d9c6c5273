#include "base/task/spawn.hpp"

#include <mutex>

#include <boost/asio/execution_context.hpp>

namespace crab::detail {

/// All chains of one io_context.
class TaskRoots final : public asio::execution_context::service {
public:
    static inline asio::execution_context::id id;
    explicit TaskRoots(asio::execution_context& context) : service(context) {}

    void add(TaskRoot& root) {
        const std::scoped_lock lock(mutex_);
        root.next_ = first_;
        if (first_ != nullptr) first_->previous_ = &root;
        first_ = &root;
    }
    void remove(TaskRoot& root) {
        const std::scoped_lock lock(mutex_);
        (root.previous_ != nullptr ? root.previous_->next_ : first_) = root.next_;
        if (root.next_ != nullptr) root.next_->previous_ = root.previous_;
    }
    /// The context is being destroyed.
    void shutdown() override {
        while (first_ != nullptr) first_->coroutine_.destroy();
    }

private:
    std::mutex mutex_;   ///< tasks may be started from other threads
    TaskRoot* first_ = nullptr;
};

TaskRoot::TaskRoot(const Executor& executor)
    : TaskChain(executor), work_(executor), all_(asio::use_service<TaskRoots>(executor.context())) {
    all_.add(*this);
}

TaskRoot::~TaskRoot() { all_.remove(*this); }

void TaskRoot::begin(std::coroutine_handle<> coroutine, const Executor& executor) {
    if (executor.running_in_this_thread()) {
        coroutine.resume();
    } else {
        asio::post(executor, [coroutine] { coroutine.resume(); });
    }
}

}  // namespace crab::detail
