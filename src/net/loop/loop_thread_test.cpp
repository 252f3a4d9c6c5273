#include "net/loop/loop_thread.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

namespace crab::net {
namespace {

TEST(LoopThread, RunsTheLoopUntilItIsStopped) {
    const RealClock clock;
    EventLoop loop(clock);
    std::promise<std::thread::id> ran;
    LoopThread thread(loop);
    loop.post([&] { ran.set_value(std::this_thread::get_id()); });
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
    loop.post([&] { loop.stop(); });
    thread.join();
}

TEST(LoopThread, ItsEndIsTheLoopsEndWhateverIsPosted) {
    const RealClock clock;
    EventLoop loop(clock);
    std::promise<void> running;
    std::function<void()> again = [&] { loop.post(again); };
    {
        const LoopThread thread(loop);
        loop.post([&] { running.set_value(); });
        loop.post(again);
        running.get_future().wait();
    }
    SUCCEED() << "the destructor has returned";
}

}  // namespace
}  // namespace crab::net
