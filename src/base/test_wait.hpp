#pragma once

#include <chrono>
#include <thread>

namespace crab {

/// For tests of several threads: whether `done()` comes to be true within twenty seconds.
template <class F>
bool until(F done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace crab
