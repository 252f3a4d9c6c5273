#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace crab {

/// Tells watchers that something has changed; they look for themselves what. Any number of threads.
class ChangeSignal {
    struct Watchers {
        std::mutex mutex;
        std::map<std::uint64_t, std::function<void()>> all;
        std::uint64_t last = 0;
    };

public:
    /// A place among the watchers; gives it up when it ends. May outlive the signal.
    class Watch {
    public:
        Watch() = default;
        Watch(Watch&& other) noexcept
            : watchers_(std::exchange(other.watchers_, nullptr)), id_(other.id_) {}
        Watch& operator=(Watch&& other) noexcept {
            std::swap(watchers_, other.watchers_);
            std::swap(id_, other.id_);
            return *this;
        }
        ~Watch() {
            if (!watchers_) return;
            const std::scoped_lock lock(watchers_->mutex);
            watchers_->all.erase(id_);
        }

    private:
        friend class ChangeSignal;
        Watch(std::shared_ptr<Watchers> watchers, std::uint64_t id)
            : watchers_(std::move(watchers)), id_(id) {}
        std::shared_ptr<Watchers> watchers_;
        std::uint64_t id_ = 0;
    };

    /// `changed` is called on the thread that makes the change, and never once the Watch has ended.
    /// It must not block and must not use the signal: a post to an event loop is what it is for.
    [[nodiscard]] Watch watch(std::function<void()> changed) {
        const std::scoped_lock lock(watchers_->mutex);
        const std::uint64_t id = ++watchers_->last;
        watchers_->all.emplace(id, std::move(changed));
        return {watchers_, id};
    }
    void notify() {
        const std::scoped_lock lock(watchers_->mutex);
        for (const auto& [id, changed] : watchers_->all) changed();
    }

private:
    std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

}  // namespace crab
