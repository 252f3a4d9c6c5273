#pragma once

#include "base/error.hpp"
#include "core/policy/principal_limits.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace crab::clawseed {

/// The HTTP status for a failed upload. Another principal's call is answered like an unknown one.
constexpr int upload_status(ErrorCode code) {
    if (code == ErrorCode::kOversize) return 413;
    if (code == ErrorCode::kRateLimited) return 507;
    if (code == ErrorCode::kInvalidArgs) return 400;
    if (code == ErrorCode::kTimeout) return 408;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kForbidden) return 404;
    return 503;
}

/// Counts running and finished uploads. Thread-safe.
class Uploads {
public:
    class Count {
    public:
        void add() { value_.fetch_add(1, std::memory_order_relaxed); }
        std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

    private:
        std::atomic<std::uint64_t> value_{0};
    };

    /// Takes one of `most` slots until the returned object is destroyed; null when all are taken,
    /// or kMostOfPrincipal by `principal`. *this must outlive it.
    std::shared_ptr<void> enter(std::size_t most, const std::string& principal) {
        auto own = of_principals_.take(principal);
        if (!own) return nullptr;
        if (running_.fetch_add(1) >= most) {
            running_.fetch_sub(1);
            return nullptr;
        }
        return {this, [own = std::move(own)](Uploads* uploads) { uploads->running_.fetch_sub(1); }};
    }
    static constexpr std::size_t kMostOfPrincipal = 8;
    std::size_t running() const { return running_.load(std::memory_order_relaxed); }

    Count stored, refused;

private:
    core::PrincipalLimits of_principals_{kMostOfPrincipal};
    std::atomic<std::size_t> running_{0};
};

}  // namespace crab::clawseed
