#include "core/pipeline/first_caller.hpp"

#include "base/task/spawn.hpp"

namespace crab::core {

FirstCaller::FirstCaller(Ledger& ledger, const LedgerKey& key, Call& call, TaskChain& chain)
    : ledger_(ledger), key_(key), call_(call), chain_(chain) {
    call_.first = this;
}

void FirstCaller::on_expired() {
    if (others_wait()) return call_.on_overtime();
    out_of_time_ = true;
    chain_.cancel();
}

// Somebody may have joined since the last one left.
void FirstCaller::on_deserted() {
    if (!others_wait()) chain_.cancel();
}

bool FirstCaller::others_wait() {
    if (!self_) self_ = std::make_shared<FirstCaller*>(this);
    auto deserted = [weak = std::weak_ptr(self_), home = chain_.executor()] {
        run_soon(home, [weak] {
            if (const auto self = weak.lock()) (*self)->on_deserted();
        });
    };
    return ledger_.goes_on_for_others(key_, std::move(deserted));
}

}  // namespace crab::core
