#pragma once

#include "net/loop/event_loop.hpp"

#include <functional>
#include <future>
#include <utility>

namespace crab::net {

/// Lets `begin(done)` run on the loop and waits until it has called `done`, from whichever thread.
/// By a thread that the loop does not need for that.
template <typename Begin>
void finish_on(EventLoop& loop, Begin&& begin) {
    std::promise<void> ended;
    loop.post([&] {
        std::forward<Begin>(begin)(std::function<void()>([&ended] { ended.set_value(); }));
    });
    ended.get_future().wait();
}

}  // namespace crab::net
