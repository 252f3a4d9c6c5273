#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

namespace crab::sdk {

/// The ids of the calls that a device has begun, so that none runs twice although the gateway may
/// ask again. Bounded: the oldest is dropped, long after its deadline.
class SeenCalls {
public:
    static constexpr std::size_t kMost = 16'384;

    void add(const std::string& id) {
        if (!ids_.insert(id).second) return;
        order_.push_back(id);
        if (order_.size() <= kMost) return;
        ids_.erase(order_.front());
        order_.pop_front();
    }
    bool contains(const std::string& id) const { return ids_.contains(id); }

private:
    std::unordered_set<std::string> ids_;
    std::deque<std::string> order_;
};

}  // namespace crab::sdk
