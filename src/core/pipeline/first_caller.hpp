#pragma once

#include "base/task/task_chain.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/call/call.hpp"
#include "core/ledger/ledger.hpp"

#include <memory>

namespace crab::core {

/// The first caller of a dispatched call. If it leaves or its deadline passes, the call continues
/// while others that have joined it wait. Lives in the pipeline, on the loop of `chain`, which runs
/// the call.
class FirstCaller final : private TimerNode {
public:
    /// `key` is the call's in `ledger`. Sets `call.first` to this for its lifetime.
    FirstCaller(Ledger& ledger, const LedgerKey& key, Call& call, TaskChain& chain);
    ~FirstCaller() override { call_.first = nullptr; }

    /// From now on the caller's deadline does not limit the call: when it passes,
    /// `call.on_overtime` is called and the call continues for others, or is cancelled if there are
    /// none.
    void has_its_own_deadline(TimerWheel& timers) { timers.arm(*this, call_.caller_deadline); }
    /// The caller has left: whether the call continues for others. It is cancelled when the last of
    /// them has left.
    bool leave() { return others_wait(); }
    /// Whether the call was cancelled because the caller's deadline had passed and nobody else
    /// waited.
    bool out_of_time() const { return out_of_time_; }

private:
    void on_expired() override;
    void on_deserted();
    bool others_wait();

    Ledger& ledger_;
    const LedgerKey key_;
    Call& call_;
    TaskChain& chain_;
    /// For callers that leave on other threads; created on demand.
    std::shared_ptr<FirstCaller*> self_;
    bool out_of_time_ = false;
};

}  // namespace crab::core
