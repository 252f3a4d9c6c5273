#pragma once

#include "base/task/spawn.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/test_clock.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace crab {

/// A coroutine that a test has started: its result so far, and how to cancel it.
template <class T>
struct Started {
    std::optional<T> result;
    std::exception_ptr failure;
    CancelSignal signal;

    bool ended() const { return result.has_value() || failure != nullptr; }
    /// Returns its result or rethrows its exception.
    T& get() {
        if (failure) std::rethrow_exception(failure);
        return result.value();
    }
};

/// For tests: an event loop of one thread whose time stands still until advance().
class TestLoop {
public:
    FakeClock clock;
    TimerWheel timers{clock};
    asio::io_context io{1};

    Executor executor() { return io.get_executor(); }
    SteadyTime in(std::chrono::nanoseconds span) const { return clock.steady_now() + span; }

    /// Starts `task` and runs everything up to where it waits.
    template <class T>
    std::shared_ptr<Started<T>> start(Task<T> task) {
        auto started = std::make_shared<Started<T>>();
        auto ended = [started](std::exception_ptr failure, std::optional<T> value) {
            started->failure = std::move(failure);
            started->result = std::move(value);
        };
        spawn(executor(), std::move(task), std::move(ended), &started->signal);
        settle();
        return started;
    }
    std::shared_ptr<Started<bool>> start(Task<void> task) {
        return start([](Task<void> body) -> Task<bool> {
            co_await std::move(body);
            co_return true;
        }(std::move(task)));
    }
    /// The same for other awaitables, such as Waiter::wait() and BlockingPool::run().
    template <class A>
        requires requires(A wait) { wait.await_resume(); }
    auto start(A wait) {
        return start(as_task(std::move(wait)));
    }
    /// Runs `task` to its end, waiting for other threads if needed.
    template <class T>
    T run(Task<T> task) {
        auto started = start(std::move(task));
        run_until([&] { return started->ended(); });
        return std::move(started->get());
    }
    template <class A>
        requires requires(A wait) { wait.await_resume(); }
    auto run(A wait) {
        return run(as_task(std::move(wait)));
    }
    /// Cancels on the loop, as a front does.
    template <class T>
    void cancel(Started<T>& started) {
        asio::post(io, [&] { started.signal.emit(); });
        settle();
    }

    /// Runs what can run now.
    void settle() {
        io.restart();
        io.poll();
    }
    void advance(std::chrono::nanoseconds by) {
        clock.advance(by);
        asio::post(io, [this] { timers.run_expired(); });
        settle();
    }
    /// Runs the loop until `done()`; waits for other threads at most ten seconds.
    template <class F>
    bool run_until(F&& done) {
        const auto work = asio::make_work_guard(io);
        io.restart();
        while (!done()) {
            if (io.run_one_for(std::chrono::seconds(10)) == 0) return false;
        }
        return true;
    }

private:
    template <class A>
    static auto as_task(A wait) -> Task<decltype(wait.await_resume())> {
        co_return co_await std::move(wait);
    }
};

}  // namespace crab
