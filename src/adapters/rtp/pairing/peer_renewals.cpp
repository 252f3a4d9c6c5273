#include "adapters/rtp/pairing/peer_renewals.hpp"

#include "base/task/waiter.hpp"

namespace crab::rtp {
namespace {

constexpr auto kDueBefore = std::chrono::days(30);
constexpr std::chrono::hours kEvery{24}, kAfterFailure{1};

}  // namespace

Task<void> PeerRenewals::watch() {
    Waiter pause(loop_.timers());
    for (;;) {
        const bool all_renewed = co_await renew_due();
        const auto wait = all_renewed ? kEvery : kAfterFailure;
        if (co_await pause.wait(loop_.clock().steady_now() + wait) == WaitEnd::kCancelled)
            co_return;
    }
}

/// One after the other: a pairing takes a second, and nothing is urgent. False when one failed.
Task<bool> PeerRenewals::renew_due() {
    bool all_renewed = true;
    for (const auto& [peer, problem] : peers_.list()) {
        if ((co_await this_chain()).cancelled()) co_return false;
        const bool is_due = peer.not_after - loop_.clock().system_now() < kDueBefore;
        if (peer.status != trust::PeerStatus::kActive || !is_due) continue;
        const bool renewed = co_await renew_(peer.name);
        all_renewed = all_renewed && renewed;
    }
    co_return all_renewed;
}

}  // namespace crab::rtp
