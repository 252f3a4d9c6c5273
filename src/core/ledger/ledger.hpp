#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/waiter.hpp"
#include "core/call/tool_result.hpp"
#include "core/ledger/ledger_key.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::core {

/// The ledger's decision on a call. kTooMany: too many repeats are waiting already.
enum class Admission : std::uint8_t { kNew, kJoin, kReplay, kConflict, kBusy, kTooMany };
/// How to treat a repeat of a running call: wait for its outcome, or kBusy.
enum class WhileRunning : std::uint8_t { kJoin, kBusy };

/// Records calls in memory, so that a repeat joins or replays the first instead of running twice:
/// for 10 minutes, at most 48 MiB; outcomes above 6 MiB are not kept. Calls with side effects or a
/// key are in the LedgerJournal as well. Thread-safe; no lock is held across functions.
class Ledger {
public:
    struct Options {
        /// Split by key into quarters, each of which keeps outcomes up to an eighth of it
        std::size_t max_bytes = std::size_t{48} << 20;
        std::chrono::minutes keep{10};
        std::size_t max_joins = 64;  ///< repeats that wait for one call
        std::size_t max_joins_per_principal = 256;  ///< and for all calls of one principal together
    };
    using OutcomeRef = std::shared_ptr<const Outcome>;

    /// A repeat that waits for the first call; `outcome` is set before it is woken.
    struct Joiner : RemoteWaiter {
        using RemoteWaiter::RemoteWaiter;
        OutcomeRef outcome;  ///< null: the first left no outcome to replay; run again
    };
    /// A place among the waiting repeats, released on destruction.
    class Join {
    public:
        Join();
        Join(Join&&) noexcept;
        Join& operator=(Join&& other) noexcept;
        ~Join();
        Joiner* operator->() const { return joiner_.get(); }

    private:
        friend class Ledger;
        struct Place;
        void leave();
        std::unique_ptr<const Place> place_;
        std::shared_ptr<Joiner> joiner_;
    };
    /// The right to run. Destroying it without finish() counts as finish(null).
    class Ticket {
    public:
        Ticket() = default;
        Ticket(Ticket&& other) noexcept;
        Ticket& operator=(Ticket&& other) noexcept;
        ~Ticket();
        /// Stores the outcome for repeats and wakes joiners. Null: nothing happened, a repeat runs
        /// again.
        void finish(OutcomeRef outcome, std::chrono::nanoseconds duration = {});

    private:
        friend class Ledger;
        Ledger* ledger_ = nullptr;
        std::uint64_t high_ = 0, low_ = 0;
    };
    struct Answer {
        Admission admission = Admission::kNew;
        Ticket ticket;  ///< for kNew
        OutcomeRef outcome;  ///< for kReplay
        std::chrono::nanoseconds duration{0};  ///< for kReplay: of the first call
        Join joiner;  ///< for kJoin
    };

    Ledger(const Clock& clock, Options options);
    ~Ledger();

    /// `content` is what a repeat must match (ledger_content.hpp). `home` and `timers` are the
    /// caller's, for kJoin. `repeats`: how repeats are treated while this call runs.
    Answer admit(const LedgerKey& key, std::uint64_t content, const Executor& home,
                 TimerWheel& timers, WhileRunning repeats = WhileRunning::kJoin);
    /// Called when the first caller of a running call leaves: whether repeats still wait for it. If
    /// so, `deserted` is called when the last of them has left while it runs; on any thread, must
    /// be quick.
    bool goes_on_for_others(const LedgerKey& key, std::function<void()> deserted);
    /// Whether a finished call with this key is stored.
    bool has_finished(const LedgerKey& key) const;
    std::size_t entries() const;
    /// The number of waiting repeats.
    std::size_t joins() const;

private:
    struct Key {
        std::uint64_t high, low;
        friend bool operator==(const Key&, const Key&) = default;
    };
    class Stripe;
    static constexpr std::size_t kStripes = 4;
    static Key key_of(const LedgerKey& key);
    Stripe& stripe_of(const Key& key) const { return *stripes_[key.high % kStripes]; }
    void finish(const Key& key, OutcomeRef outcome, std::chrono::nanoseconds duration);
    bool count_join(const std::string& who);
    void leave(const Join::Place& place, const Joiner* joiner);

    const Clock& clock_;
    const Options options_;
    /// Shards by key, each with its own lock
    std::array<std::unique_ptr<Stripe>, kStripes> stripes_;
    mutable OrderedMutex<LockRank::kLedgerJoins> joins_mutex_;  ///< taken last
    /// Waiting repeats by tenant and principal
    std::unordered_map<std::string, std::size_t> joins_;
};

}  // namespace crab::core
