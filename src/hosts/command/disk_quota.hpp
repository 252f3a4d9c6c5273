#pragma once

#include "base/clock.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace crab::command {

/// Size limit of a worktree. File systems seldom have quotas, so files are added up whenever the
/// free space has noticeably decreased since the last time, on a thread of its own: with a cold
/// cache that takes longer than a call may. Thread-safe. Source: docs/protocols/sw4rm.md, section
/// 10.
class DiskQuota {
    /// Free space of the file system.
    struct Free {
        std::uint64_t bytes = 0, files = 0;
    };

public:
    /// `folder`: an open directory (O_PATH suffices) that must outlive this.
    DiskQuota(int folder, std::uint64_t most_bytes) : folder_(folder), most_(most_bytes) {}

    std::uint64_t most_bytes() const { return most_; }

    /// Checks the quota during one call that may write in the worktree.
    class Watch {
    public:
        explicit Watch(DiskQuota& quota);
        /// Whether the worktree exceeds its limit, or contains a folder that its owner cannot read.
        /// Deleted open files, and files beyond the first half million, are accounted by the
        /// decrease of free space during this call. Waits for a measurement that is due until
        /// `until`; then the last one counts, and without any it is nothing.
        std::optional<bool> exceeded(SteadyTime until);

    private:
        DiskQuota& quota_;
        Free at_begin_;
    };

private:
    Free free() const;
    std::optional<bool> holds_too_much(std::uint64_t free_now, SteadyTime until);
    void measure(const std::stop_token& stop);

    const int folder_;
    const std::uint64_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool measured_ = false;
    bool measuring_ = false;
    std::uint64_t used_ = 0;  ///< at the last measurement, …
    std::uint64_t free_then_ = 0;  ///< … and the free space when it began
    std::jthread measurer_;  ///< last: it refers to the rest
};

}  // namespace crab::command
