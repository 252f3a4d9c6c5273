#pragma once

#include "base/clock.hpp"
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

/// What the ledger says of a call that wants in. kCrowded: as many repeats as may wait do so
/// already.
enum class Admission : std::uint8_t { kNew, kJoin, kReplay, kConflict, kBusy, kCrowded };
/// What a repeat of a call that still runs gets: its outcome, or kBusy.
enum class WhileRunning : std::uint8_t { kJoin, kBusy };

/// Remembers calls so that a repeat joins or replays the first instead of running twice: in memory,
/// 10 minutes, at most 48 MiB; an outcome above 6 MiB is not kept. Calls with side effects or a key
/// are in the LedgerJournal as well. Thread-safe; each lock is held inside one function.
class Ledger {
public:
    struct Options {
        /// A quarter of it, by key, keeps outcomes up to an eighth
        std::size_t max_bytes = std::size_t{48} << 20;
        std::chrono::minutes keep{10};
        std::size_t max_joins = 64;  ///< repeats that wait for one call
        std::size_t max_joins_per_principal = 256;  ///< and for all calls of one principal together
    };
    using OutcomeRef = std::shared_ptr<const Outcome>;

    /// A repeat that waits for the first; `outcome` is set before it is woken.
    struct Joiner : RemoteWaiter {
        using RemoteWaiter::RemoteWaiter;
        OutcomeRef outcome;  ///< null: the first ended without one that serves repeats; run again
    };
    /// A place among those who wait, given back when it is destroyed, whatever ended the wait.
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
    /// The right to run; finish() it. A ticket that is only destroyed counts as finish(nothing).
    class Ticket {
    public:
        Ticket() = default;
        Ticket(Ticket&& other) noexcept;
        Ticket& operator=(Ticket&& other) noexcept;
        ~Ticket();
        /// Stores what repeats will get, and wakes joiners. Null: a repeat runs again (nothing
        /// happened).
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

    /// `content` says what a repeat must agree in (ledger_content.hpp). `home` and `timers` are the
    /// caller's, for kJoin. `repeats` is what others get while this call runs.
    Answer admit(const LedgerKey& key, std::uint64_t content, const Executor& home,
                 TimerWheel& timers, WhileRunning repeats = WhileRunning::kJoin);
    /// Whoever began the call that runs under this key has left: whether repeats wait for it all
    /// the same. Then `deserted` is called once the last of them has left while it still runs; on
    /// any thread, it must be quick.
    bool goes_on_for_others(const LedgerKey& key, std::function<void()> deserted);
    /// Whether a call under this key has finished and is kept.
    bool has_finished(const LedgerKey& key) const;
    std::size_t entries() const;
    /// Repeats that wait now.
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
    /// Slices of the keys, each with its own lock
    std::array<std::unique_ptr<Stripe>, kStripes> stripes_;
    mutable std::mutex joins_mutex_;  ///< taken last
    /// Those who wait, by tenant and principal
    std::unordered_map<std::string, std::size_t> joins_;
};

}  // namespace crab::core
