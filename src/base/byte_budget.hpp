#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace crab {

/// A limit on buffered bytes, nested in a larger one: a principal's within the process's.
/// Thread-safe.
class ByteBudget {
public:
    explicit ByteBudget(std::size_t most, std::shared_ptr<ByteBudget> whole = nullptr)
        : most_(most), whole_(std::move(whole)) {}
    ByteBudget(const ByteBudget&) = delete;
    ByteBudget& operator=(const ByteBudget&) = delete;

    /// False when that would exceed a limit; then nothing was taken.
    bool take(std::size_t bytes);
    void give(std::size_t bytes);
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }

private:
    const std::size_t most_;
    const std::shared_ptr<ByteBudget> whole_;
    std::atomic<std::size_t> held_{0};
};

/// Bytes taken from a budget, given back on destruction. Without a budget nothing is counted.
class HeldBytes {
public:
    HeldBytes() = default;
    explicit HeldBytes(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
    HeldBytes(HeldBytes&& other) noexcept
        : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
    HeldBytes& operator=(HeldBytes&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~HeldBytes() { shrink_to(0); }

    /// Grows the total to `bytes` if it is less. False: the budget is exhausted, and nothing has
    /// changed.
    bool grow_to(std::size_t bytes) {
        if (!budget_ || bytes <= bytes_) return true;
        if (!budget_->take(bytes - bytes_)) return false;
        bytes_ = bytes;
        return true;
    }
    void shrink_to(std::size_t bytes) {
        if (bytes < bytes_) budget_->give(std::exchange(bytes_, bytes) - bytes);
    }
    std::size_t bytes() const { return bytes_; }
    bool has_budget() const { return budget_ != nullptr; }

private:
    std::shared_ptr<ByteBudget> budget_;
    std::size_t bytes_ = 0;
};

/// Named budgets within one common limit. Thread-safe.
class ByteBudgets {
public:
    ByteBudgets(std::size_t most_of_one, std::size_t most_in_all)
        : most_of_one_(most_of_one), whole_(std::make_shared<ByteBudget>(most_in_all)) {}
    /// The budget of that name; the same object while anyone holds it.
    std::shared_ptr<ByteBudget> of(std::string_view name);
    const ByteBudget& whole() const { return *whole_; }

private:
    const std::size_t most_of_one_;
    const std::shared_ptr<ByteBudget> whole_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<ByteBudget>> named_;
    std::size_t forget_at_ = 64;
};

}  // namespace crab
