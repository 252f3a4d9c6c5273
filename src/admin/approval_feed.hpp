#pragma once

#include "base/ordered_mutex.hpp"
#include "base/task/waiter.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// Delivers changes of approvals to watchers. Thread-safe.
class ApprovalFeed {
public:
    struct Update {
        std::string type, json;   ///< `question` or `end`, and what append_approval() writes
    };
    /// One watcher, on its own event loop. Owned by both sides.
    class Watcher final : public RemoteWaiter {
    public:
        using RemoteWaiter::RemoteWaiter;
        /// What has arrived since the last take(); wait() for more.
        std::deque<Update> take();
        /// The queue overflowed: there is a gap before its first item.
        bool fell_behind() const;

    private:
        friend class ApprovalFeed;
        mutable std::mutex mutex_;
        std::deque<Update> news_;
        bool fell_behind_ = false;
    };

    /// Feeds `watcher` until it is destroyed.
    void add(const std::shared_ptr<Watcher>& watcher);
    void publish(std::string_view type, const std::string& json);

private:
    OrderedMutex<LockRank::kApprovalFeed> mutex_;
    std::vector<std::weak_ptr<Watcher>> watchers_;
};

}  // namespace crab::admin
