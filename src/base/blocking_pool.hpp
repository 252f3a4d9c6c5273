#pragma once

#include "base/task.hpp"

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace crab {

/// Threads for work that blocks: SQLite, name resolution, file reads, process start. Never for anything on the path of a
/// read-only call.
class BlockingPool {
public:
    explicit BlockingPool(std::size_t threads) : pool_(threads) {}
    ~BlockingPool() { pool_.join(); }

    /// To be awaited: runs `work()` on a pool thread and resumes the caller on its own executor with the result, or with what it
    /// threw. Cancelling the caller does not stop the work and does not end the wait: what blocks cannot be taken back.
    template <class F>
    [[nodiscard]] auto run(F work) {
        return Run<F>(pool_, std::move(work));
    }
    /// Runs `work()` on a pool thread; nobody waits for it, but the destructor does.
    template <class F>
    void post(F work) {
        asio::post(pool_, std::move(work));
    }

private:
    template <class F>
    class Run {
        using Value = std::invoke_result_t<F>;
        static_assert(!std::is_void_v<Value>, "return a Result<void>");

    public:
        Run(asio::thread_pool& pool, F work) : pool_(pool), state_(std::make_shared<State>(std::move(work))) {}
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
        asio::thread_pool& pool_;
        std::shared_ptr<State> state_;
    };

    asio::thread_pool pool_;
};

}  // namespace crab
