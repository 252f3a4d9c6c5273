#include "core/call/running_calls.hpp"

#include "base/task/spawn.hpp"

#include <algorithm>

namespace crab::core {

RunningCalls::Entry::Entry(RunningCalls& list, const Call& call, const Principal& principal)
    : list_(list), call_(call), principal_(principal) {
    const std::scoped_lock lock(list_.mutex_);
    next_ = list_.first_;
    if (next_ != nullptr) next_->previous_ = this;
    list_.first_ = this;
    ++list_.size_;
}

RunningCalls::Entry::~Entry() {
    const std::scoped_lock lock(list_.mutex_);
    (previous_ != nullptr ? previous_->next_ : list_.first_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    --list_.size_;
}

RunningCallInfo RunningCalls::info_of(const Entry& entry, SteadyTime now) {
    const Timeline& timeline = entry.call_.timeline;
    return {.call_id = std::string(entry.call_.id),
            .tool = std::string(entry.call_.tool),
            .principal = entry.principal_.id,
            .tenant = std::string(entry.call_.tenant),
            .front = std::string(entry.call_.front),
            .stage = entry.stage_,
            .started_at = timeline.started_at(),
            .elapsed = std::chrono::duration_cast<Milliseconds>(now - timeline.started())};
}

std::vector<RunningCallInfo> RunningCalls::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<RunningCallInfo> calls;
    const SteadyTime now = clock_.steady_now();
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next_)
        calls.push_back(info_of(*entry, now));
    return calls;
}

std::vector<RunningCallInfo> RunningCalls::oldest(std::size_t most) const {
    const std::scoped_lock lock(mutex_);
    const Entry* entry = first_;  // the newest
    for (std::size_t left = size_; left > most; --left) entry = entry->next_;
    std::vector<RunningCallInfo> calls;
    const SteadyTime now = clock_.steady_now();
    for (; entry != nullptr; entry = entry->next_) calls.push_back(info_of(*entry, now));
    std::ranges::reverse(calls);
    return calls;
}

std::size_t RunningCalls::size() const {
    const std::scoped_lock lock(mutex_);
    return size_;
}

std::size_t RunningCalls::cancel(
    std::string_view call_id,
    const std::function<bool(const Principal&, std::string_view tenant)>& allowed,
    std::string_view by) {
    std::size_t found = 0;
    {
        const std::scoped_lock lock(mutex_);
        for (Entry* entry = first_; entry != nullptr; entry = entry->next_) {
            if (entry->call_.id == call_id && allowed(entry->principal_, entry->call_.tenant))
                ++found;
        }
    }
    if (found == 0) return 0;
    // The entry may end before the post runs, so it is looked up again there.
    run_soon(home_, [this, id = std::string(call_id), allowed, by = std::string(by)] {
        for (;;) {
            Entry* target = nullptr;
            {
                const std::scoped_lock lock(mutex_);
                for (Entry* entry = first_; entry != nullptr && target == nullptr;
                     entry = entry->next_) {
                    if (!entry->cancelled_ && entry->call_.id == id &&
                        allowed(entry->principal_, entry->call_.tenant))
                        target = entry;
                }
            }
            if (target == nullptr) return;
            target->cancelled_ = true;
            target->cancelled_by_ = by;
            // may destroy the entry
            if (auto* canceller = target->call_.canceller) canceller->emit();
        }
    });
    return found;
}

}  // namespace crab::core
