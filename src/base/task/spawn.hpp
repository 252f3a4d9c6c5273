#pragma once

#include "base/task/task.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace crab {

/// Runs `work` on the executor's thread, soon, and never inline.
template <class Work>
void run_soon(const Executor& home, Work work) {
    asio::post(home, std::move(work));
}

namespace detail {

class TaskRoots;

/// The root of a chain. Chains that still wait when their io_context is destroyed are destroyed
/// with it.
class TaskRoot : public TaskChain {
public:
    explicit TaskRoot(const Executor& executor);
    ~TaskRoot();

    TaskChain& chain() { return *this; }
    /// Begins on the executor's thread: now if this is it, else soon.
    static void begin(std::coroutine_handle<> coroutine, const Executor& executor);

protected:
    std::coroutine_handle<> coroutine_;

private:
    friend TaskRoots;
    asio::executor_work_guard<Executor> work_;   ///< run() goes on until the task has ended
    TaskRoots& all_;
    TaskRoot* next_ = nullptr;
    TaskRoot* previous_ = nullptr;
};

template <class T, class F>
class RootPromise;

template <class T, class F>
struct Root {
    using promise_type = RootPromise<T, F>;
    std::coroutine_handle<promise_type> coroutine;
};

template <class T, class F>
class RootPromise : public TaskRoot {
    using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

public:
    RootPromise(const Executor& executor, Task<T>&, F& on_end, CancelSignal*)
        : TaskRoot(executor), on_end_(std::move(on_end)) {}
    static void* operator new(std::size_t size) { return FramePool::take(size); }
    static void operator delete(void* frame, std::size_t size) noexcept {
        FramePool::give(frame, size);
    }

    Root<T, F> get_return_object() {
        const auto coroutine = std::coroutine_handle<RootPromise>::from_promise(*this);
        coroutine_ = coroutine;
        return {coroutine};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    /// The frame is destroyed before `on_end` is called, which may destroy everything that the task
    /// used.
    auto final_suspend() const noexcept {
        struct End {
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<RootPromise> root) const noexcept {
                RootPromise& promise = root.promise();
                F on_end = std::move(promise.on_end_);
                const std::exception_ptr failure = std::move(promise.failure_);
                if constexpr (std::is_void_v<T>) {
                    root.destroy();
                    on_end(failure);
                } else {
                    std::optional<T> value = std::move(promise.value_);
                    root.destroy();
                    on_end(failure, std::move(value));
                }
            }
            void await_resume() const noexcept {}
        };
        return End{};
    }
    void unhandled_exception() { failure_ = std::current_exception(); }
    void return_void() const {}
    std::optional<Value>& value() { return value_; }

private:
    F on_end_;
    std::exception_ptr failure_;
    std::optional<Value> value_;
};

/// `co_await promise_of<P>()` returns the promise of the awaiting coroutine.
template <class Promise>
class promise_of {
public:
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<Promise> asking) noexcept {
        promise_ = &asking.promise();
        return false;
    }
    Promise& await_resume() const noexcept { return *promise_; }

private:
    Promise* promise_ = nullptr;
};

template <class T, class F>
Root<T, F> make_root(Executor, Task<T> task, F, CancelSignal*) {
    Task<T> body = std::move(task);  // a local goes before the promise, a parameter after it
    if constexpr (std::is_void_v<T>) {
        co_await std::move(body);
    } else {
        auto& promise = co_await promise_of<RootPromise<T, F>>();
        promise.value().emplace(co_await std::move(body));
    }
}

}  // namespace detail

/// Starts `task` on `executor`: now, up to its first wait, when this is its thread, else soon. When
/// it has ended, `on_end(std::exception_ptr failure)` is called there, or for a task with a value
/// `on_end(std::exception_ptr failure, std::optional<T> value)`; it must not throw. `cancel`, if
/// given, cancels the task. A task that still waits when its io_context is destroyed is destroyed
/// with it, and `on_end` is not called. Inside a session use TaskGroup, which joins what it starts.
template <class T, class F>
void spawn(const Executor& executor, Task<T> task, F on_end, CancelSignal* cancel = nullptr) {
    const auto root =
        detail::make_root<T, F>(executor, std::move(task), std::move(on_end), cancel).coroutine;
    if (cancel != nullptr) cancel->attach(root.promise());
    detail::TaskRoot::begin(root, executor);
}

/// `co_await yield_to_loop()`: the task goes on in a later iteration of its loop.
class yield_to_loop {
public:
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> asking) const {
        asio::post(asking.promise().chain().executor(), [asking] { asking.resume(); });
    }
    void await_resume() const noexcept {}
};

}  // namespace crab
