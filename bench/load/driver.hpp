#pragma once

#include "load/histogram.hpp"
#include "load/loop.hpp"

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace crab::bench {

/// What makes calls: it has a number of lanes, and each carries one call at a time.
class Transport {
public:
    virtual ~Transport() = default;
    virtual void start(std::size_t lane) = 0;
};

/// Who hears of the ends of calls. `answer` is empty for a success; otherwise what came instead.
class Answers {
public:
    virtual ~Answers() = default;
    virtual void on_answer(std::size_t lane, std::string_view failure) = 0;
};

/// Keeps the lanes of a transport busy for a while and measures: closed loop (every lane always has
/// a call out), or open loop at a fixed rate with Poisson arrivals, where a call's time runs from
/// when it was due, not from when a lane was free.
class Driver final : public Answers {
public:
    struct Options {
        std::size_t lanes = 1;
        double rate = 0;  ///< calls per second; 0: closed loop
        std::chrono::duration<double> warm_up{0.3};
        std::chrono::duration<double> measure{1};
        pid_t server = 0;  ///< whose CPU time is read; 0: none
    };

    explicit Driver(const Options& options);

    /// Throws std::runtime_error when calls keep failing, naming what the first failure was.
    void run(Loop& loop, Transport& transport);
    /// One JSON object: calls (measured), answered (warm-up included), failures, seconds, rate,
    /// server and own CPU per call, quantiles of the latency.
    std::string report() const;

    void on_answer(std::size_t lane, std::string_view failure) override;

private:
    void start(std::size_t lane, Clock::time_point due);
    void start_due(Clock::time_point now);

    Options options_;
    Transport* transport_ = nullptr;
    std::vector<Clock::time_point> started_;  // per lane
    std::vector<std::size_t> free_;
    // open loop: calls that were due while every lane was busy
    std::deque<Clock::time_point> backlog_;
    Clock::time_point next_due_{};
    std::mt19937_64 random_{1};  // the same arrivals in every run
    bool measuring_ = false;
    bool stopping_ = false;
    Histogram latency_;
    std::uint64_t answered_ = 0;  // warm-up included
    std::uint64_t failures_ = 0;
    std::string first_failure_;
    std::chrono::nanoseconds server_cpu_{};
    std::chrono::nanoseconds own_cpu_{};
    Clock::duration took_{};
};

}  // namespace crab::bench
