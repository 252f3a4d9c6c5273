#pragma once

#include "base/task/pool_run.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"

#include <atomic>
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

namespace detail {

/// Work for a pool of which the caller may give up: `begun` is set by the pool thread or by the
/// caller, whichever is first.
template <class F>
struct PostedWork : RemoteWaiter {
    PostedWork(const Executor& home, TimerWheel& timers, F body)
        : RemoteWaiter(home, timers), work(std::move(body)) {}
    void run() {
        if (begun.exchange(true)) return;
        work.run();
        ended = true;
        wake();
    }
    PoolWork<F> work;
    std::atomic<bool> begun = false, ended = false;
};

}  // namespace detail

/// Worker threads for work that blocks: SQLite, name resolution, file reads, process start. Never
/// on the path of a read-only call. They run with a nice value of 5, so that event loops get the
/// CPU first.
class BlockingPool {
public:
    explicit BlockingPool(std::size_t threads);
    /// Waits for all that was posted.
    ~BlockingPool();

    /// To be awaited: runs `work()` on a pool thread and resumes the caller on its own executor
    /// with the result, or with what it threw. Cancelling the caller neither stops the work nor
    /// ends the wait.
    template <class F>
    [[nodiscard]] auto run(F work) {
        return detail::PoolRun(std::move(work), [this](auto run) { this->post(std::move(run)); });
    }
    /// run() for optional work: nothing when `deadline` has passed, or the caller was cancelled,
    /// before a thread was free. Work that has started is waited for; it must check the deadline
    /// itself.
    template <class F>
    Task<std::optional<std::invoke_result_t<F>>> run_by(F work, TimerWheel& timers,
                                                        Deadline deadline) {
        TaskChain& chain = co_await this_chain();
        const auto posted =
            std::make_shared<detail::PostedWork<F>>(chain.executor(), timers, std::move(work));
        asio::post(pool_, [posted] { posted->run(); });
        if (co_await posted->wait(deadline) != WaitEnd::kWoken && !posted->begun.exchange(true))
            co_return std::nullopt;
        bool cancelled = false;
        while (!posted->ended.load()) {
            cancelled = cancelled || chain.cancelled();
            chain.forget_cancellation();
            (void)co_await posted->wait(kNoDeadline);
        }
        if (cancelled) chain.cancel();
        co_return posted->work.take();
    }
    /// Runs `work()` on a pool thread without waiting; the destructor waits for it.
    template <class F>
    void post(F work) {
        asio::post(pool_, std::move(work));
    }

    /// Of a pool without threads, for simulations: runs on this thread what was posted. Returns
    /// whether there was anything.
    bool run_here() { return pool_.poll() > 0; }

    /// Waits until all work posted before has ended. For one thread at a time, not one of the
    /// pool's.
    void settle();

private:
    asio::io_context pool_;
    asio::executor_work_guard<Executor> open_;
    std::vector<std::jthread> threads_;
};

}  // namespace crab
