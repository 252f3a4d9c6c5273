#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace crab::core {

/// Concurrency limit of one tool with a bounded FIFO queue. Thread-safe.
class ToolGate : public std::enable_shared_from_this<ToolGate> {
public:
    static constexpr std::size_t kDefaultQueue = 256;
    /// `outer`: a second gate to pass after this one, shared by all tools of a host; its queue
    /// limit covers both queues.
    explicit ToolGate(std::uint32_t limit, std::size_t queue = kDefaultQueue,
                      std::shared_ptr<ToolGate> outer = nullptr)
        : limit_(limit), queue_(queue), outer_(std::move(outer)) {}

    /// The right to run one call; released on destruction.
    class Permit {
    public:
        Permit() = default;
        explicit Permit(std::shared_ptr<ToolGate> gate, std::shared_ptr<ToolGate> outer = nullptr)
            : gate_(std::move(gate)), outer_(std::move(outer)) {}
        Permit(Permit&&) = default;
        Permit& operator=(Permit&& other) noexcept;
        ~Permit();

    private:
        friend class ToolGate;
        void give_back();
        std::shared_ptr<ToolGate> gate_, outer_;
    };

    /// Waits for a free slot until `deadline`. Errors: kRateLimited (with retry_after) when the
    /// queue is full or the deadline passes, kCancelled.
    Task<Result<Permit>> enter(TimerWheel& timers, Deadline deadline);
    /// A slot if one is free and nothing is queued.
    std::optional<Permit> try_enter();
    std::size_t running() const;
    std::size_t waiting() const;

private:
    struct Place;
    void leave();
    Task<Result<Permit>> wait_in_queue(TimerWheel& timers, Deadline deadline);

    mutable std::mutex mutex_;
    const std::uint32_t limit_;
    const std::size_t queue_;
    std::uint32_t running_ = 0;
    std::list<std::shared_ptr<Place>> waiters_;
    std::atomic<std::size_t> all_waiting_{0};  ///< here, and in the gates before this one
    const std::shared_ptr<ToolGate> outer_;
};

}  // namespace crab::core
