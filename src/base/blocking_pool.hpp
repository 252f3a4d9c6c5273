#pragma once

#include "base/task.hpp"

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

    /// Runs `work()` on a pool thread and resumes the caller on its own executor with the result, or with what it threw.
    /// Cancelling the caller does not stop the work and does not end the wait: what blocks cannot be taken back.
    template <class F>
    Task<std::invoke_result_t<F>> run(F work) {
        using Value = std::invoke_result_t<F>;
        static_assert(!std::is_void_v<Value>, "return a Result<void>");
        struct State {
            std::optional<Value> value;
            std::exception_ptr failure;
        };
        const auto home = co_await asio::this_coro::executor;
        auto state = std::make_shared<State>();
        // Not a spawned coroutine: a cancellation would reach it while another thread runs it.
        auto start = [this, home, state, body = std::move(work)](auto handler) mutable {
            auto resume = std::make_shared<decltype(handler)>(std::move(handler));
            asio::post(pool_, [home, state, resume = std::move(resume), body = std::move(body)]() mutable {
                try {
                    state->value.emplace(body());
                } catch (...) {
                    state->failure = std::current_exception();
                }
                asio::post(home, [resume = std::move(resume)] { std::move(*resume)(); });
            });
        };
        co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(std::move(start), asio::use_awaitable);
        if (state->failure) std::rethrow_exception(state->failure);
        co_return std::move(*state->value);
    }
    /// Runs `work()` on a pool thread; nobody waits for it, but the destructor does.
    template <class F>
    void post(F work) {
        asio::post(pool_, std::move(work));
    }

private:
    asio::thread_pool pool_;
};

}  // namespace crab
