#pragma once

#include "base/task.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace crab {

/// Threads for work that blocks: SQLite, name resolution, file reads, process start. Never for anything on the path of a
/// read-only call.
class BlockingPool {
public:
    explicit BlockingPool(std::size_t threads) : pool_(threads) {}
    ~BlockingPool() { pool_.join(); }

    /// Runs `work()` on a pool thread and resumes the caller on its own executor with the result.
    template <class F>
    Task<std::invoke_result_t<F>> run(F work) {
        co_return co_await asio::co_spawn(
            pool_, [](F body) -> Task<std::invoke_result_t<F>> { co_return body(); }(std::move(work)), asio::use_awaitable);
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
