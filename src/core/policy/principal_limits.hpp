#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace crab::core {

/// How many of something each principal has at the same time. Thread-safe; outlives what it gave.
class PrincipalLimits {
public:
    explicit PrincipalLimits(std::size_t most) : most_(most) {}
    PrincipalLimits(const PrincipalLimits&) = delete;
    PrincipalLimits& operator=(const PrincipalLimits&) = delete;

    /// Held as long as the principal has one more; null when it has all it may.
    std::shared_ptr<void> take(const std::string& principal);
    std::size_t count(const std::string& principal) const;

private:
    const std::size_t most_;
    mutable std::mutex mutex_;
    std::map<std::string, std::size_t> taken_;
};

}  // namespace crab::core
