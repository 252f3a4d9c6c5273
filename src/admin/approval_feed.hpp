#pragma once

#include "base/task/waiter.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// News of approvals, handed to whoever watches. Thread-safe.
class ApprovalFeed {
public:
    struct News {
        std::string type, json;   ///< `question` or `end`, and what append_approval() writes
    };
    /// One who watches, on an event loop of his own. Held by both sides.
    class Watcher final : public RemoteWaiter {
    public:
        using RemoteWaiter::RemoteWaiter;
        /// What came since the last time; wait() for more.
        std::deque<News> take();
        /// More came than fits: there is a gap before what is still here.
        bool fell_behind() const;

    private:
        friend class ApprovalFeed;
        mutable std::mutex mutex_;
        std::deque<News> news_;
        bool fell_behind_ = false;
    };

    /// Until it is gone.
    void add(const std::shared_ptr<Watcher>& watcher);
    void publish(std::string_view type, const std::string& json);

private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<Watcher>> watchers_;
};

}  // namespace crab::admin
