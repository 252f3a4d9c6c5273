#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

namespace crab {

/// Threads for a pool, each of which runs `work` until it returns. Where cores are short they make
/// way for event loops (a nice value of 5).
std::vector<std::jthread> start_workers(std::size_t threads,
                                        const std::function<void(const std::stop_token&)>& work);

}  // namespace crab
