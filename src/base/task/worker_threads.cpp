#include "base/task/worker_threads.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace crab {
namespace {

constexpr int kNice = 5;

}  // namespace

std::vector<std::jthread> start_workers(std::size_t threads,
                                        const std::function<void(const std::stop_token&)>& work) {
    std::vector<std::jthread> started;
    started.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        started.emplace_back([work](const std::stop_token& stop) {
            ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()),
                          kNice);  // of this thread only on Linux; best effort
            work(stop);
        });
    }
    return started;
}

}  // namespace crab
