#pragma once

#include <coroutine>
#include <utility>

#include <boost/asio/io_context.hpp>

namespace crab {

namespace asio = boost::asio;

/// Where coroutines run: always an event loop's thread, so nothing is paid for hiding which kind of
/// executor it is.
using Executor = asio::io_context::executor_type;

class CancelSignal;

/// A wait that a cancellation ends.
class Interruptible {
public:
    virtual ~Interruptible() = default;
    /// Resumes the waiting coroutine before it returns; `this` may be gone then.
    virtual void interrupt() = 0;
};

/// What a spawned task and all the tasks it awaits, directly or not, have in common. Used on the
/// thread of its executor. A task reaches it with `co_await this_chain()`.
class TaskChain {
public:
    explicit TaskChain(const Executor& executor) : executor_(executor) {}
    TaskChain(const TaskChain&) = delete;
    TaskChain& operator=(const TaskChain&) = delete;

    const Executor& executor() const { return executor_; }
    /// Somebody wants this chain to end. Nothing is thrown: a wait in progress ends early and later
    /// ones do not begin; what the tasks then do is their own affair.
    bool cancelled() const { return cancelled_; }
    /// The cancellation was for something that has ended; what comes now runs as if there had been
    /// none.
    void forget_cancellation() { cancelled_ = false; }
    void cancel() {
        cancelled_ = true;
        if (waiting_ != nullptr) waiting_->interrupt();
    }

    /// For whoever suspends the chain: what cancel() has to interrupt until `waits(nullptr)`.
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

/// The other end of one chain, for whoever may want it cancelled; harmless before the chain was
/// spawned and after it has ended. Used on the chain's thread.
class CancelSignal {
public:
    CancelSignal() = default;
    CancelSignal(const CancelSignal&) = delete;
    CancelSignal& operator=(const CancelSignal&) = delete;
    ~CancelSignal() { detach(); }

    /// Cancels the chain; its waiting task runs on before this returns, and may destroy this
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

/// `co_await this_chain()` gives the chain of the task that asks, without suspending it.
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
/// TaskChain& chain)`; whoever gets the handle there resumes it, once and on the chain's executor.
/// A cancellation does not end this wait.
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
