#pragma once

#include "base/task/task_chain.hpp"

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/post.hpp>

namespace crab::detail {

/// Work for a pool thread and its result. Shared, because it may outlive a caller that is destroyed
/// with its loop.
template <class Work>
class PoolWork {
public:
    using Value = std::invoke_result_t<Work>;
    static_assert(!std::is_void_v<Value>, "return a Result<void>");

    explicit PoolWork(Work work) : work_(std::move(work)) {}
    void run() noexcept {
        try {
            value_.emplace(work_());
        } catch (...) {
            failure_ = std::current_exception();
        }
    }
    /// Returns its result or rethrows its exception.
    Value take() {
        if (failure_) std::rethrow_exception(failure_);
        return std::move(*value_);
    }

private:
    Work work_;
    std::optional<Value> value_;
    std::exception_ptr failure_;
};

/// Awaits work on a pool: `post(f)` has `f()` called by one of its threads. The caller resumes on
/// its own executor.
template <class Work, class Post>
class PoolRun {
public:
    PoolRun(Work work, Post post)
        : work_(std::make_shared<PoolWork<Work>>(std::move(work))), post_(std::move(post)) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> asking) {
        post_([work = work_, asking, home = asking.promise().chain().executor()] {
            work->run();
            asio::post(home, [asking] { asking.resume(); });
        });
    }
    auto await_resume() const { return work_->take(); }

private:
    std::shared_ptr<PoolWork<Work>> work_;
    Post post_;
};

}  // namespace crab::detail
