#pragma once

#include "net/loop/periodic.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace crab::runtime {

/// Periodic work. Its timers are on the first event loop.
class PeriodicJobs : public Component {
public:
    struct Job {
        Milliseconds every;
        std::function<void()> work;
        /// Where it runs; blocking work on the worker threads.
        enum class Place : std::uint8_t { kLoop, kWorkers };
        Place place = Place::kLoop;
    };
    PeriodicJobs(EventLoops& loops, Workers& workers, std::vector<Job> jobs)
        : loops_(loops), workers_(workers), jobs_(std::move(jobs)) {}

    std::string_view name() const override { return "maintenance"; }
    Result<void> start() override {
        for (const Job& job : jobs_) {
            auto work = job.work;
            if (job.place == Job::Place::kWorkers)
                work = [this, blocks = job.work] { workers_.pool().post(blocks); };
            timers_.push_back(
                std::make_unique<net::Periodic>(loops_.first(), job.every, std::move(work)));
        }
        return {};
    }
    void stop(Deadline deadline) override {
        loops_.finish(loops_.first(), deadline, [this](const std::function<void()>& done) {
            timers_.clear();
            done();
        });
    }

private:
    EventLoops& loops_;
    Workers& workers_;
    const std::vector<Job> jobs_;
    std::vector<std::unique_ptr<net::Periodic>> timers_;
};

}  // namespace crab::runtime
