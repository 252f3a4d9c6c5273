#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace crab {

/// An immutable value that is replaced as a whole: writers call set(), each reading thread keeps a
/// Reader. Thread-safe.
template <class T>
class Published {
public:
    explicit Published(std::shared_ptr<const T> first) : current_(std::move(first)) {}

    void set(std::shared_ptr<const T> next) {  // destroys what was there, outside the lock
        const std::scoped_lock lock(mutex_);
        current_.swap(next);
        version_.fetch_add(1, std::memory_order_release);
    }
    std::shared_ptr<const T> get() const {
        const std::scoped_lock lock(mutex_);
        return current_;
    }
    /// Grows with every set(); cheap to poll.
    std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

    /// One thread's copy of the pointer; it takes the lock only when the value has changed.
    class Reader {
    public:
        explicit Reader(const Published& source) : source_(source) {}
        const std::shared_ptr<const T>& get() {
            if (const std::uint64_t version = source_.version(); version != seen_) {
                value_ = source_.get();
                seen_ = version;
            }
            return value_;
        }

    private:
        const Published& source_;
        std::uint64_t seen_ = 0;
        std::shared_ptr<const T> value_;
    };

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const T> current_;
    std::atomic<std::uint64_t> version_{1};
};

}  // namespace crab
