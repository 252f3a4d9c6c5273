#pragma once

#include "agent/conversation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace crab::agent {

/// Stops a model from repeating the same failing call endlessly. One per turn.
class RepeatGuard {
public:
    static constexpr std::size_t kMost = 3;

    /// Whether this call has failed kMost times in a row and must not run again.
    bool holds(const ToolRequest& request) const {
        const auto it = failures_.find({request.tool, request.args});
        return it != failures_.end() && it->second >= kMost;
    }
    void ended(const ToolRequest& request, bool failed) {
        std::pair<std::string, std::string> key{request.tool, request.args};
        if (failed) {
            ++failures_[std::move(key)];
        } else {
            failures_.erase(key);
        }
    }

private:
    std::map<std::pair<std::string, std::string>, std::size_t> failures_;
};

}  // namespace crab::agent
