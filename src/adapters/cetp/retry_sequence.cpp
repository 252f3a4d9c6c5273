#include "adapters/cetp/retry_sequence.hpp"

namespace crab::cetp {

RetrySequence::RetrySequence(const Terms& terms) : end_(terms.end) {
    const auto repeat = [&](Action start, Milliseconds wait) {
        steps_.push_back({start});
        if (wait.count() > 0) steps_.push_back({Action::kWait, wait});
        steps_.push_back({Action::kSend});
    };
    steps_.push_back({Action::kSend});
    switch (terms.purpose) {
        case Purpose::kDiscovery:
            if (terms.may_wake) {
                repeat(Action::kWake, terms.wake_wait);
            } else {
                repeat(Action::kStartSilently, terms.silent_wait);
            }
            break;
        case Purpose::kExecution:
            repeat(Action::kStartSilently, terms.silent_wait);
            if (terms.may_wake) repeat(Action::kWake, terms.wake_wait);
            break;
    }
}

std::optional<RetrySequence::Step> RetrySequence::next(SteadyTime now) {
    if (at_ == steps_.size() || now >= end_) return std::nullopt;
    const Step step = steps_[at_];
    if (step.action == Action::kWait && end_ - now <= step.wait) {
        at_ = steps_.size();
        return std::nullopt;
    }
    ++at_;
    return step;
}

}  // namespace crab::cetp
