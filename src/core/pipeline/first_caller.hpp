#pragma once

#include "base/task/task_chain.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/call/call.hpp"
#include "core/ledger/ledger.hpp"

#include <memory>

namespace crab::core {

/// Whoever began a call, while the call is out to its host: it may leave, or its own deadline may
/// pass, while others who have joined the call still wait. Then the call goes on for them, until
/// the last of them has left. Lives in the pipeline, on the loop of `chain`, which runs the call.
class FirstCaller final : private TimerNode {
public:
    /// `key` is that of the call in `ledger`. Until it is destroyed, `call.first` is this.
    FirstCaller(Ledger& ledger, const LedgerKey& key, Call& call, TaskChain& chain);
    ~FirstCaller() override { call_.first = nullptr; }

    /// From here on the deadline of the caller is no limit of the call: when it passes, the call
    /// goes on for others who wait and the caller hears of it by `call.on_overtime`; if there are
    /// none the call is cancelled.
    void has_its_own_deadline(TimerWheel& timers) { timers.arm(*this, call_.caller_deadline); }
    /// The caller has left. Whether the call goes on all the same, for others; it is cancelled when
    /// the last of them has left.
    bool leave() { return others_wait(); }
    /// The call was cancelled because the caller's own deadline had passed and nobody else waited.
    bool out_of_time() const { return out_of_time_; }

private:
    void on_expired() override;
    void on_deserted();
    bool others_wait();

    Ledger& ledger_;
    const LedgerKey key_;
    Call& call_;
    TaskChain& chain_;
    /// For those who leave on other threads; made when somebody may.
    std::shared_ptr<FirstCaller*> self_;
    bool out_of_time_ = false;
};

}  // namespace crab::core
