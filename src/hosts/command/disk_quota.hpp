#pragma once

#include <cstdint>
#include <mutex>

namespace crab::command {

/// What a worktree may hold of its disk. The file systems of worktrees seldom have quotas, so it is
/// measured: all files are added up when the free space of the file system has become noticeably
/// less since they were last. Thread-safe; it may block for a moment. Source:
/// docs/protocols/sw4rm.md, section 10.
class DiskQuota {
    /// Of the file system.
    struct Free {
        std::uint64_t bytes = 0, files = 0;
    };

public:
    /// `folder`: an open directory that outlives this; O_PATH suffices.
    DiskQuota(int folder, std::uint64_t most_bytes) : folder_(folder), most_(most_bytes) {}

    std::uint64_t most_bytes() const { return most_; }

    /// Looks during one call that may write in the worktree.
    class Watch {
    public:
        explicit Watch(DiskQuota& quota);
        /// Whether the worktree holds more than it may, or cannot be measured because a folder in
        /// it shuts its owner out. What has no name any more, and what is beyond the first half
        /// million files, is found by what the file system lost during this call.
        bool exceeded();

    private:
        DiskQuota& quota_;
        Free at_begin_;
    };

private:
    Free free() const;
    bool holds_too_much(std::uint64_t free_now);

    const int folder_;
    const std::uint64_t most_;
    std::mutex mutex_;
    bool measured_ = false;
    std::uint64_t used_ = 0;  ///< when it was last measured, with …
    std::uint64_t free_then_ = 0;  ///< … so much free
};

}  // namespace crab::command
