#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace crab::sdk {

/// Unacknowledged replies, oldest first. After a broken connection they are sent again within the
/// gateway's grace period. Bounded: beyond the limits the oldest is dropped.
class Outbox {
public:
    static constexpr std::size_t kMaxReplies = 256;
    static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

    struct Reply {
        std::string call_id;
        std::string frame;
    };

    void add(std::string call_id, std::string frame);
    /// False when no reply of that id was waiting.
    bool acknowledge(std::string_view call_id);
    /// The reply to that call; null when none is waiting. Valid until the next change.
    const Reply* find(std::string_view call_id) const;
    const std::deque<Reply>& unacknowledged() const { return replies_; }
    /// The link broke: what is here, or is added before it is back, is kept until `keep_until`.
    void link_broke(Deadline keep_until) { keep_until_ = keep_until; }
    /// The link is back: forgets what came too late and returns the rest.
    const std::deque<Reply>& link_opened(SteadyTime now);
    std::size_t size() const { return replies_.size(); }

private:
    std::deque<Reply> replies_;
    std::size_t bytes_ = 0;
    Deadline keep_until_ = kNoDeadline;
};

}  // namespace crab::sdk
