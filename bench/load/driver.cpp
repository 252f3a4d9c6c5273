#include "load/driver.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <stdexcept>

namespace crab::bench {
namespace {

constexpr std::uint64_t kMostFailures = 1000;

/// User and system time of all threads of a process so far, at the scheduler's precision.
std::chrono::nanoseconds cpu_time(pid_t pid) {
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
    timespec now{};
    if (pid != 0 && clock_getcpuclockid(pid, &clock) != 0)
        throw std::runtime_error("the server is gone");
    if (clock_gettime(clock, &now) != 0) throw std::runtime_error("the server is gone");
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Driver::Driver(const Options& options) : options_(options), started_(options.lanes) {}

void Driver::run(Loop& loop, Transport& transport) {
    transport_ = &transport;
    const auto begin = Clock::now();
    const auto from = begin + std::chrono::duration_cast<Clock::duration>(options_.warm_up);
    const auto until = from + std::chrono::duration_cast<Clock::duration>(options_.measure);
    next_due_ = begin;
    for (std::size_t lane = 0; lane < options_.lanes; ++lane) {
        if (options_.rate > 0) {
            free_.push_back(lane);
        } else {
            start(lane, begin);
        }
    }
    const auto turns_until = [&](Clock::time_point end) {
        for (auto now = Clock::now(); now < end; now = Clock::now()) {
            if (options_.rate > 0) start_due(now);
            loop.turn(options_.rate > 0 ? std::min(next_due_, end) : end);
        }
    };
    turns_until(from);
    measuring_ = true;
    const auto started = Clock::now();
    const auto server =
        options_.server != 0 ? cpu_time(options_.server) : std::chrono::nanoseconds{};
    const auto own = cpu_time(0);
    turns_until(until);
    if (options_.server != 0) server_cpu_ = cpu_time(options_.server) - server;
    own_cpu_ = cpu_time(0) - own;
    took_ = Clock::now() - started;
    measuring_ = false;
    stopping_ = true;
}

void Driver::start(std::size_t lane, Clock::time_point due) {
    started_[lane] = due;
    transport_->start(lane);
}

void Driver::start_due(Clock::time_point now) {
    std::exponential_distribution<double> gap(options_.rate);
    for (; next_due_ <= now; next_due_ += std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(gap(random_)))) {
        backlog_.push_back(next_due_);
    }
    while (!backlog_.empty() && !free_.empty()) {
        const std::size_t lane = free_.back();
        free_.pop_back();
        start(lane, backlog_.front());
        backlog_.pop_front();
    }
}

void Driver::on_answer(std::size_t lane, std::string_view failure) {
    const auto now = Clock::now();
    if (!failure.empty()) {
        if (failures_++ == 0) first_failure_ = failure;
        if (failures_ > kMostFailures)
            throw std::runtime_error("calls keep failing; the first: " + first_failure_);
    } else {
        ++answered_;
        if (measuring_) latency_.record(now - started_[lane]);
    }
    if (stopping_) return;
    if (options_.rate == 0) {
        start(lane, now);
    } else {
        free_.push_back(lane);
        start_due(now);
    }
}

std::string Driver::report() const {
    const double seconds = std::chrono::duration<double>(took_).count();
    const double calls = latency_.total() > 0 ? static_cast<double>(latency_.total()) : 1;
    std::array<char, 512> text;
    std::snprintf(
        text.data(), text.size(),
        R"({"calls":%llu,"answered":%llu,"failures":%llu,"backlog":%zu,"seconds":%.4f,"rate":%.1f,)"
        R"("cpu_us":%.4f,"load_cpu_us":%.4f,"server_busy":%.3f,"p50_us":%.2f,"p99_us":%.2f,)"
        R"("p999_us":%.2f})",
        static_cast<unsigned long long>(latency_.total()),
        static_cast<unsigned long long>(answered_), static_cast<unsigned long long>(failures_),
        backlog_.size(), seconds, static_cast<double>(latency_.total()) / seconds,
        static_cast<double>(server_cpu_.count()) / calls / 1000.0,
        static_cast<double>(own_cpu_.count()) / calls / 1000.0,
        static_cast<double>(server_cpu_.count()) / 1e9 / seconds, latency_.quantile_us(0.5),
        latency_.quantile_us(0.99), latency_.quantile_us(0.999));
    return text.data();
}

}  // namespace crab::bench
