#pragma once

#include "base/task.hpp"
#include "base/waiter.hpp"

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace crab {

/// Threads for work that blocks: SQLite, name resolution, file reads, process start. Never for anything on the path of a
/// read-only call. Where cores are short its threads make way for event loops (a nice value of 5).
class BlockingPool {
public:
    explicit BlockingPool(std::size_t threads);
    /// Waits for all that was posted.
    ~BlockingPool();

    /// To be awaited: runs `work()` on a pool thread and resumes the caller on its own executor with the result, or with what it
    /// threw. Cancelling the caller does not stop the work and does not end the wait: what blocks cannot be taken back.
    template <class F>
    [[nodiscard]] auto run(F work) {
        return Run<F>(pool_, std::move(work));
    }
    /// run() for work that need not be done: nothing when `deadline` has passed, or the caller was cancelled, before a thread was free.
    /// Work that has begun is waited for; it has its own eye on the deadline.
    template <class F>
    Task<std::optional<std::invoke_result_t<F>>> run_by(F work, TimerWheel& timers, Deadline deadline) {
        TaskChain& chain = co_await this_chain();
        const auto turn = std::make_shared<Turn<F>>(chain.executor(), timers, std::move(work));
        asio::post(pool_, [turn] { turn->run(); });
        if (co_await turn->wait(deadline) != WaitEnd::kWoken && !turn->begun.exchange(true)) co_return std::nullopt;
        bool cancelled = false;
        while (!turn->ended.load()) {
            cancelled = cancelled || chain.cancelled();
            chain.forget_cancellation();
            (void)co_await turn->wait(kNoDeadline);
        }
        if (cancelled) chain.cancel();
        if (turn->failure) std::rethrow_exception(turn->failure);
        co_return std::move(turn->value);
    }
    /// Runs `work()` on a pool thread; nobody waits for it, but the destructor does.
    template <class F>
    void post(F work) {
        asio::post(pool_, std::move(work));
    }

    /// Waits until what was posted before has ended. By one thread at a time, and none of the pool's.
    void settle();

private:
    template <class F>
    class Run {
        using Value = std::invoke_result_t<F>;
        static_assert(!std::is_void_v<Value>, "return a Result<void>");

    public:
        Run(asio::io_context& pool, F work) : pool_(pool), state_(std::make_shared<State>(std::move(work))) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> asking) const {
            asio::post(pool_, [state = state_, asking, home = asking.promise().chain().executor()] {
                try {
                    state->value.emplace(state->work());
                } catch (...) {
                    state->failure = std::current_exception();
                }
                asio::post(home, [asking] { asking.resume(); });
            });
        }
        Value await_resume() const {
            if (state_->failure) std::rethrow_exception(state_->failure);
            return std::move(*state_->value);
        }

    private:
        /// Outlives a caller that is destroyed with its loop.
        struct State {
            explicit State(F body) : work(std::move(body)) {}
            F work;
            std::optional<Value> value;
            std::exception_ptr failure;
        };
        asio::io_context& pool_;
        std::shared_ptr<State> state_;
    };

    /// Of run_by(): `begun` belongs to whoever sets it first, the thread or the caller who gives up.
    template <class F>
    struct Turn : RemoteWaiter {
        Turn(const Executor& home, TimerWheel& timers, F body) : RemoteWaiter(home, timers), work(std::move(body)) {}
        void run() {
            if (begun.exchange(true)) return;
            try {
                value.emplace(work());
            } catch (...) {
                failure = std::current_exception();
            }
            ended = true;
            wake();
        }
        F work;
        std::optional<std::invoke_result_t<F>> value;
        std::exception_ptr failure;
        std::atomic<bool> begun = false, ended = false;
    };

    asio::io_context pool_;
    asio::executor_work_guard<Executor> open_;
    std::vector<std::jthread> threads_;
};

}  // namespace crab
