#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace crab {

/// One wait with a deadline. Embed it in the waiting object; it leaves its wheel on destruction.
class TimerNode {
public:
    TimerNode() = default;
    TimerNode(const TimerNode&) = delete;
    TimerNode& operator=(const TimerNode&) = delete;
    virtual ~TimerNode() { disarm(); }

    bool armed() const { return next_ != nullptr; }
    void disarm();

protected:
    /// The deadline has passed. The node is disarmed already and may be armed again or destroyed
    /// here.
    virtual void on_expired() = 0;

private:
    friend class TimerWheel;
    TimerNode* next_ = nullptr;
    TimerNode* previous_ = nullptr;
    std::int64_t tick_ = 0;
};

/// All deadlines of one event loop: arming and disarming are O(1) and allocate nothing; expiry is
/// late by at most one tick (4 ms) and never early. Used on one thread.
class TimerWheel {
public:
    static constexpr Milliseconds kTick{4};

    explicit TimerWheel(const Clock& clock);
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;
    ~TimerWheel();

    /// Arms `node` for `deadline`, moving it if it is armed; kNoDeadline only disarms.
    void arm(TimerNode& node, Deadline deadline);
    /// Calls on_expired() of every node whose deadline has passed by the clock.
    void run_expired();
    /// When run_expired() has to be called next; nothing while no node is armed. May be early,
    /// never late.
    std::optional<Deadline> next_wakeup() const;
    /// Has arm() call `hook` with a deadline that is earlier than all reported since the last
    /// run_expired(), so that the driver of the wheel wakes up earlier.
    void on_earlier_wakeup(std::function<void(Deadline)> hook) { on_earlier_ = std::move(hook); }

private:
    static constexpr std::size_t kSlots = 4096;
    struct Anchor final : TimerNode {
        void on_expired() override {}
    };
    std::int64_t tick_at_or_after(SteadyTime time) const;

    const Clock& clock_;
    SteadyTime origin_;
    std::int64_t done_ = 0;  ///< every tick up to this one has been run
    /// The earliest tick that was reported to on_earlier_
    std::int64_t announced_ = std::numeric_limits<std::int64_t>::max();
    std::function<void(Deadline)> on_earlier_;
    std::array<Anchor, kSlots> slots_;
    /// May show emptied slots as occupied; next_wakeup() corrects it
    mutable std::array<std::uint64_t, kSlots / 64> occupied_{};
};

}  // namespace crab
