#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace crab::cli {

/// During its lifetime the first Ctrl-C (or SIGTERM) runs `on_interrupt` on a thread of its own,
/// and the second ends the process with 130. Create it before other threads, so that they inherit
/// the signal mask.
class Interrupt {
public:
    explicit Interrupt(std::function<void()> on_interrupt);
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    bool happened() const { return happened_; }

private:
    void watch();

    std::function<void()> on_interrupt_;
    std::atomic<bool> happened_ = false;
    std::atomic<bool> done_ = false;
    std::thread watcher_;
};

}  // namespace crab::cli
