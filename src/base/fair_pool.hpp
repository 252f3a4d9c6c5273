#pragma once

#include "base/task.hpp"

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace crab {

/// Threads for work that takes a processor's time because somebody asked for it: everybody who asks has a line of its own, the
/// lines take turns, and of one line one piece of work runs at a time, in order. Where cores are short its threads make way for
/// event loops, as those of BlockingPool do. Thread-safe.
class FairPool {
public:
    explicit FairPool(std::size_t threads);
    /// Waits for all that was posted.
    ~FairPool();
    FairPool(const FairPool&) = delete;
    FairPool& operator=(const FairPool&) = delete;

    /// Calls `work` on a thread of the pool until it returns false; between two calls the other lines have their turn. It must not throw.
    void post(std::string line, std::function<bool()> work);
    /// To be awaited: `work()`, once, as BlockingPool::run().
    template <class F>
    [[nodiscard]] auto run(std::string line, F work) {
        return Run<F>(*this, std::move(line), std::move(work));
    }
    /// Waits until nothing is left to do. By none of its own threads.
    void settle();

private:
    template <class F>
    class Run {
        using Value = std::invoke_result_t<F>;
        static_assert(!std::is_void_v<Value>, "return a Result<void>");

    public:
        Run(FairPool& pool, std::string line, F work) : pool_(pool), line_(std::move(line)), state_(std::make_shared<State>(std::move(work))) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> asking) {
            pool_.post(std::move(line_), [state = state_, asking, home = asking.promise().chain().executor()] {
                try {
                    state->value.emplace(state->work());
                } catch (...) {
                    state->failure = std::current_exception();
                }
                asio::post(home, [asking] { asking.resume(); });
                return false;
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
        FairPool& pool_;
        std::string line_;
        std::shared_ptr<State> state_;
    };

    void work(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, std::deque<std::function<bool()>>> lines_;   ///< those with work, that which runs included
    std::deque<std::string> turns_;                                    ///< lines of which nothing runs, who is next first
    std::vector<std::jthread> threads_;
};

}  // namespace crab
