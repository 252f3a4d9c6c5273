#pragma once

#include <coroutine>
#include <utility>

#include <boost/asio/io_context.hpp>

namespace crab {

namespace asio = boost::asio;

/// Coroutines run on event loops only, so the executor type is concrete: no type erasure.
using Executor = asio::io_context::executor_type;

class CancelSignal;

/// A wait that a cancellation ends.
class Interruptible {
public:
    virtual ~Interruptible() = default;
    /// Resumes the waiting coroutine before it returns; `this` may be destroyed by then.
    virtual void interrupt() = 0;
};

/// Shared state of a spawned task and all tasks that it awaits, directly or not. Used on the thread
/// of its executor. `co_await this_chain()` returns it.
class TaskChain {
public:
    explicit TaskChain(const Executor& executor) : executor_(executor) {}
    TaskChain(const TaskChain&) = delete;
    TaskChain& operator=(const TaskChain&) = delete;

    const Executor& executor() const { return executor_; }
    /// Whether cancellation was requested. Nothing is thrown: the current wait ends early and later
    /// ones do not start; the tasks decide how to finish.
    bool cancelled() const { return cancelled_; }
    /// Clears a cancellation that has been handled.
    void forget_cancellation() { cancelled_ = false; }
    void cancel() {
        cancelled_ = true;
        if (waiting_ != nullptr) waiting_->interrupt();
    }

    /// Set by the code that suspends the chain: what cancel() interrupts, until `waits(nullptr)`.
    void waits(Interruptible* wait) { waiting_ = wait; }

protected:
    ~TaskChain();

private:
    friend class CancelSignal;
    Executor executor_;
    Interruptible* waiting_ = nullptr;
    CancelSignal* signal_ = nullptr;
    bool cancelled_ = false;
};

/// Cancels one chain; no effect before it was spawned and after it has ended. Used on the chain's
/// thread.
class CancelSignal {
public:
    CancelSignal() = default;
    CancelSignal(const CancelSignal&) = delete;
    CancelSignal& operator=(const CancelSignal&) = delete;
    ~CancelSignal() { detach(); }

    /// Cancels the chain; its waiting task resumes before this returns, and may destroy this
    /// signal.
    void emit() {
        if (chain_ != nullptr) chain_->cancel();
    }
    void attach(TaskChain& chain) {
        detach();
        chain_ = &chain;
        chain.signal_ = this;
    }

private:
    friend class TaskChain;
    void detach() {
        if (chain_ != nullptr) chain_->signal_ = nullptr;
        chain_ = nullptr;
    }
    TaskChain* chain_ = nullptr;
};

inline TaskChain::~TaskChain() {
    if (signal_ != nullptr) signal_->chain_ = nullptr;
}

/// `co_await this_chain()` returns the awaiting task's chain, without suspending.
class this_chain {
public:
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> asking) noexcept {
        chain_ = &asking.promise().chain();
        return false;
    }
    TaskChain& await_resume() const noexcept { return *chain_; }

private:
    TaskChain* chain_ = nullptr;
};

/// `co_await suspend(begin)` suspends the task and calls `begin(std::coroutine_handle<> asking,
/// TaskChain& chain)`; `begin` must have the handle resumed once, on the chain's executor. A
/// cancellation does not end this wait.
template <class F>
class suspend {
public:
    explicit suspend(F begin) : begin_(std::move(begin)) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> asking) {
        begin_(asking, asking.promise().chain());
    }
    void await_resume() const noexcept {}

private:
    F begin_;
};

}  // namespace crab
