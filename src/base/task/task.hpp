#pragma once

#include "base/task/frame_pool.hpp"
#include "base/task/task_chain.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace crab {

template <class T>
class Task;

namespace detail {

/// Promise base of every Task.
class TaskPromiseBase {
public:
    static void* operator new(std::size_t size) { return FramePool::take(size); }
    static void operator delete(void* frame, std::size_t size) noexcept {
        FramePool::give(frame, size);
    }

    TaskChain& chain() const { return *chain_; }
    void begin_for(TaskChain& chain, std::coroutine_handle<> awaiting) {
        chain_ = &chain;
        awaiting_ = awaiting;
    }

    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept {
        struct GoOn {
            std::coroutine_handle<> awaiting;
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
                return awaiting;
            }
            void await_resume() const noexcept {}
        };
        return GoOn{awaiting_};
    }
    void unhandled_exception() { failure_ = std::current_exception(); }

protected:
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    TaskChain* chain_ = nullptr;
    std::coroutine_handle<> awaiting_;
    std::exception_ptr failure_;
};

template <class T>
class TaskPromise : public TaskPromiseBase {
public:
    Task<T> get_return_object();
    template <class U>
    void return_value(U&& value) {
        value_.emplace(std::forward<U>(value));
    }
    T take() {
        rethrow();
        return std::move(*value_);
    }

private:
    std::optional<T> value_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
public:
    Task<void> get_return_object();
    void return_void() const {}
    void take() const { rethrow(); }
};

}  // namespace detail

/// A lazily started coroutine: it starts when it is awaited or passed to spawn(), once. Its awaiter
/// gets the result or the exception; a cancellation throws nothing (TaskChain). Destroying a
/// suspended task destroys what it awaits.
template <class T>
class [[nodiscard]] Task {
public:
    using promise_type = detail::TaskPromise<T>;

    Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        Task(std::move(other)).swap(*this);
        return *this;
    }
    ~Task() {
        if (coroutine_) coroutine_.destroy();
    }
    void swap(Task& other) noexcept { std::swap(coroutine_, other.coroutine_); }

    class Awaiter {
    public:
        explicit Awaiter(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<Promise> awaiting) const noexcept {
            coroutine_.promise().begin_for(awaiting.promise().chain(), awaiting);
            return coroutine_;
        }
        T await_resume() const { return coroutine_.promise().take(); }

    private:
        std::coroutine_handle<promise_type> coroutine_;
    };
    Awaiter operator co_await() && noexcept { return Awaiter(coroutine_); }

private:
    friend promise_type;
    explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> detail::TaskPromise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace crab
