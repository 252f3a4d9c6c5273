#include "admin/approval_feed.hpp"

#include <utility>

namespace crab::admin {
namespace {

constexpr std::size_t kMostWaiting = 1024;

}  // namespace

std::deque<ApprovalFeed::Update> ApprovalFeed::Watcher::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(news_, {});
}

bool ApprovalFeed::Watcher::fell_behind() const {
    const std::scoped_lock lock(mutex_);
    return fell_behind_;
}

void ApprovalFeed::add(const std::shared_ptr<Watcher>& watcher) {
    const std::scoped_lock lock(mutex_);
    watchers_.push_back(watcher);
}

void ApprovalFeed::publish(std::string_view type, const std::string& json) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(watchers_, [](const auto& each) { return each.expired(); });
    for (const auto& each : watchers_) {
        const auto watcher = each.lock();
        if (!watcher) continue;
        {
            const std::scoped_lock inner(watcher->mutex_);
            if (watcher->news_.size() >= kMostWaiting) {
                watcher->fell_behind_ = true;
                watcher->news_.pop_front();
            }
            watcher->news_.push_back({.type = std::string(type), .json = json});
        }
        watcher->wake();
    }
}

}  // namespace crab::admin
