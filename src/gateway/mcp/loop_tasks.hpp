#pragma once

#include "base/result.hpp"
#include "base/task/spawn.hpp"
#include "net/loop/event_loop.hpp"

#include <condition_variable>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace crab::gateway {

/// Runs tasks on a loop for threads of a pool, which wait for them. Thread-safe.
class LoopTasks {
public:
    explicit LoopTasks(net::EventLoop& loop) : loop_(loop) {}
    net::EventLoop& loop() const { return loop_; }

    /// Waits for the end of the task, which is cancelled by stop(). Errors: those of the task;
    /// kUnavailable after stop(). On a thread that the loop does not need.
    template <class T>
    Result<T> wait_for(Task<Result<T>> task) {
        const auto state = std::make_shared<State<T>>();
        if (!begin(state)) return fail(ErrorCode::kUnavailable, "the gateway is stopping");
        loop_.post([this, state, moved = std::make_shared<Task<Result<T>>>(std::move(task))] {
            spawn(
                loop_.executor(), std::move(*moved),
                [state](const std::exception_ptr& failure, std::optional<Result<T>> value) {
                    if (failure) {
                        state->ended.set_exception(failure);
                    } else {
                        state->ended.set_value(std::move(*value));
                    }
                },
                &state->signal);
        });
        auto ended = state->ended.get_future();
        ended.wait();
        end(state);
        return ended.get();
    }
    /// Cancels what runs, and waits for it. The loop still runs.
    void stop() {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        loop_.post([running = running_] {
            for (const auto& each : running) each->signal.emit();
        });
        changed_.wait(lock, [this] { return running_.empty(); });
    }

private:
    struct Running {
        CancelSignal signal;  ///< used on the loop
    };
    template <class T>
    struct State : Running {
        std::promise<Result<T>> ended;
    };
    bool begin(std::shared_ptr<Running> task) {
        const std::scoped_lock lock(mutex_);
        if (!stopping_) running_.push_back(std::move(task));
        return !stopping_;
    }
    void end(const std::shared_ptr<Running>& task) {
        const std::scoped_lock lock(mutex_);
        running_.remove(task);
        changed_.notify_all();
    }

    net::EventLoop& loop_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::shared_ptr<Running>> running_;
    bool stopping_ = false;
};

}  // namespace crab::gateway
