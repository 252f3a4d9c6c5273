#include "sdk/outbox.hpp"

#include <algorithm>
#include <utility>

namespace crab::sdk {

void Outbox::add(std::string call_id, std::string frame) {
    bytes_ += frame.size();
    replies_.push_back({std::move(call_id), std::move(frame)});
    while (replies_.size() > kMaxReplies || (bytes_ > kMaxBytes && replies_.size() > 1)) {
        bytes_ -= replies_.front().frame.size();
        replies_.pop_front();
    }
}

bool Outbox::acknowledge(std::string_view call_id) {
    const auto found = std::ranges::find(replies_, call_id, &Reply::call_id);
    if (found == replies_.end()) return false;
    bytes_ -= found->frame.size();
    replies_.erase(found);
    return true;
}

const Outbox::Reply* Outbox::find(std::string_view call_id) const {
    const auto found = std::ranges::find(replies_, call_id, &Reply::call_id);
    return found == replies_.end() ? nullptr : &*found;
}

const std::deque<Outbox::Reply>& Outbox::link_opened(SteadyTime now) {
    if (now > std::exchange(keep_until_, kNoDeadline)) {
        replies_.clear();
        bytes_ = 0;
    }
    return replies_;
}

}  // namespace crab::sdk
