#pragma once

#include "base/task/task.hpp"

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>
#include <variant>

namespace crab {

/// The result of a function that only sometimes waits: a value or a task. `co_await` of a value
/// costs neither a coroutine frame nor a suspension. Await it once.
template <class T>
class [[nodiscard]] MaybeTask {
public:
    template <class U>
        requires std::convertible_to<U, T> && (!std::same_as<std::remove_cvref_t<U>, MaybeTask>)
    MaybeTask(U&& value) : what_(std::in_place_index<0>, std::forward<U>(value)) {}
    MaybeTask(Task<T> task) : what_(std::in_place_index<1>, std::move(task)) {}

    bool await_ready() const noexcept { return what_.index() == 0; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) {
        return awaiter().await_suspend(awaiting);
    }
    T await_resume() {
        if (auto* value = std::get_if<0>(&what_)) return std::move(*value);
        return awaiter().await_resume();
    }

private:
    typename Task<T>::Awaiter awaiter() {
        return std::move(std::get<1>(what_)).operator co_await();
    }

    std::variant<T, Task<T>> what_;
};

}  // namespace crab
