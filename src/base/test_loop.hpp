#pragma once

#include "base/clock.hpp"
#include "base/task.hpp"
#include "base/timer_wheel.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace crab {

/// A coroutine that a test has started: what came of it so far, and how to cancel it.
template <class T>
struct Started {
    std::optional<T> result;
    std::exception_ptr failure;
    asio::cancellation_signal signal;

    bool ended() const { return result.has_value() || failure != nullptr; }
    /// What it returned; throws what it threw.
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

    asio::any_io_executor executor() { return io.get_executor(); }
    SteadyTime in(std::chrono::nanoseconds span) const { return clock.steady_now() + span; }

    /// Starts `task` and runs everything up to where it waits.
    template <class T>
    std::shared_ptr<Started<T>> start(Task<T> task) {
        auto started = std::make_shared<Started<T>>();
        asio::co_spawn(io, std::move(task), asio::bind_cancellation_slot(started->signal.slot(), [started](std::exception_ptr failure, T value) {
            started->failure = std::move(failure);
            if (!started->failure) started->result.emplace(std::move(value));
        }));
        settle();
        return started;
    }
    std::shared_ptr<Started<bool>> start(Task<void> task) {
        return start([](Task<void> body) -> Task<bool> {
            co_await std::move(body);
            co_return true;
        }(std::move(task)));
    }
    /// Runs `task` to its end, in which other threads may have a part.
    template <class T>
    T run(Task<T> task) {
        auto started = start(std::move(task));
        run_until([&] { return started->ended(); });
        return std::move(started->get());
    }
    /// Cancels on the loop, as a front does.
    template <class T>
    void cancel(Started<T>& started) {
        asio::post(io, [&] { started.signal.emit(asio::cancellation_type::all); });
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
};

}  // namespace crab
