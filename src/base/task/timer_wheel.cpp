#include "base/task/timer_wheel.hpp"

#include <bit>

namespace crab {

void TimerNode::disarm() {
    if (next_ == nullptr) return;
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = nullptr;
}

TimerWheel::TimerWheel(const Clock& clock) : clock_(clock), origin_(clock.steady_now()) {
    for (Anchor& anchor : slots_) anchor.next_ = anchor.previous_ = &anchor;
}

TimerWheel::~TimerWheel() {
    for (Anchor& anchor : slots_) {
        while (anchor.next_ != &anchor) anchor.next_->disarm();
        anchor.next_ = anchor.previous_ = nullptr;
    }
}

std::int64_t TimerWheel::tick_at_or_after(SteadyTime time) const {
    const auto since = time - origin_;
    const auto tick = std::chrono::nanoseconds(kTick).count();
    const auto count = std::chrono::nanoseconds(since).count();
    return count <= 0 ? 0 : (count + tick - 1) / tick;
}

void TimerWheel::arm(TimerNode& node, Deadline deadline) {
    node.disarm();
    if (deadline == kNoDeadline) return;
    node.tick_ = std::max(tick_at_or_after(deadline), done_ + 1);
    const std::size_t slot = static_cast<std::size_t>(node.tick_) % kSlots;
    TimerNode& anchor = slots_[slot];
    node.previous_ = anchor.previous_;
    node.next_ = &anchor;
    anchor.previous_->next_ = &node;
    anchor.previous_ = &node;
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    if (node.tick_ < announced_ && on_earlier_) {
        announced_ = node.tick_;
        on_earlier_(origin_ + kTick * node.tick_);
    }
}

void TimerWheel::run_expired() {
    const auto since = std::chrono::nanoseconds(clock_.steady_now() - origin_).count();
    const std::int64_t now = since / std::chrono::nanoseconds(kTick).count();
    if (now <= done_) return;
    announced_ = std::numeric_limits<std::int64_t>::max();
    // A long sleep passes every slot at most once.
    const std::int64_t first = std::max(done_ + 1, now - static_cast<std::int64_t>(kSlots) + 1);
    done_ = now;
    for (std::int64_t tick = first; tick <= now; ++tick) {
        const std::size_t slot = static_cast<std::size_t>(tick) % kSlots;
        if ((occupied_[slot / 64] >> (slot % 64) & 1) == 0) continue;
        // Due nodes move to a list of their own first: on_expired() may arm and destroy any node,
        // its neighbours included.
        Anchor due;
        due.next_ = due.previous_ = &due;
        TimerNode& anchor = slots_[slot];
        for (TimerNode* node = anchor.next_; node != &anchor;) {
            TimerNode* const next = node->next_;
            if (node->tick_ <= now) {
                node->disarm();
                node->previous_ = due.previous_;
                node->next_ = &due;
                due.previous_->next_ = node;
                due.previous_ = node;
            }
            node = next;
        }
        if (anchor.next_ == &anchor) occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
        while (due.next_ != &due) {
            TimerNode& node = *due.next_;
            node.disarm();
            node.on_expired();
        }
        due.next_ = due.previous_ = nullptr;
    }
}

std::optional<Deadline> TimerWheel::next_wakeup() const {
    for (std::size_t step = 1; step <= kSlots;) {
        const std::size_t slot = (static_cast<std::size_t>(done_) + step) % kSlots;
        const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
        if (word == 0) {
            step += 64 - slot % 64;
            continue;
        }
        step += static_cast<std::size_t>(std::countr_zero(word));
        if (step > kSlots) break;
        const std::size_t found = (static_cast<std::size_t>(done_) + step) % kSlots;
        if (slots_[found].next_ != &slots_[found])
            return origin_ + kTick * (done_ + static_cast<std::int64_t>(step));
        occupied_[found / 64] &= ~(std::uint64_t{1} << (found % 64));
    }
    return std::nullopt;
}

}  // namespace crab
