#pragma once

#include "base/clock.hpp"
#include "base/waiter.hpp"
#include "core/ledger_key.hpp"
#include "core/tool_result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace crab::core {

/// What the ledger says of a call that wants in.
enum class Admission : std::uint8_t { kNew, kJoin, kReplay, kConflict, kBusy };
/// What a repeat of a call that still runs gets: its outcome, or kBusy.
enum class WhileRunning : std::uint8_t { kJoin, kBusy };

/// Remembers calls so that a repeat joins or replays the first instead of running twice: in memory, 10 minutes, at most
/// 64 MiB. Calls with side effects or a key are in the LedgerJournal as well. Thread-safe; each lock is held inside one function.
class Ledger {
public:
    struct Options {
        std::size_t max_bytes = std::size_t{64} << 20;
        std::chrono::minutes keep{10};
    };
    using OutcomeRef = std::shared_ptr<const Outcome>;

    /// A repeat that waits for the first; `outcome` is set before it is woken.
    struct Joiner : RemoteWaiter {
        using RemoteWaiter::RemoteWaiter;
        OutcomeRef outcome;   ///< null: the first ended without one that serves repeats; run anew
    };
    /// The right to run; finish() it. A ticket that is only destroyed counts as finish(nothing).
    class Ticket {
    public:
        Ticket() = default;
        Ticket(Ticket&& other) noexcept;
        Ticket& operator=(Ticket&& other) noexcept;
        ~Ticket();
        /// Stores what repeats will get, and wakes joiners. Null: a repeat runs again (nothing happened).
        void finish(OutcomeRef outcome, std::chrono::nanoseconds duration = {});

    private:
        friend class Ledger;
        Ledger* ledger_ = nullptr;
        std::uint64_t high_ = 0, low_ = 0;
    };
    struct Answer {
        Admission admission = Admission::kNew;
        Ticket ticket;                          ///< for kNew
        OutcomeRef outcome;                     ///< for kReplay
        std::chrono::nanoseconds duration{0};   ///< for kReplay: of the first call
        std::shared_ptr<Joiner> joiner;         ///< for kJoin
    };

    Ledger(const Clock& clock, Options options);
    ~Ledger();

    /// `content` is a digest of tool and parsed arguments. `home` and `timers` are the caller's, for kJoin. `repeats` is what
    /// others get while this call runs.
    Answer admit(const LedgerKey& key, std::uint64_t content, const Executor& home, TimerWheel& timers, WhileRunning repeats = WhileRunning::kJoin);
    /// Whether a call under this key has finished and is kept.
    bool has_finished(const LedgerKey& key) const;
    std::size_t entries() const;

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

    const Clock& clock_;
    const Options options_;
    std::array<std::unique_ptr<Stripe>, kStripes> stripes_;   ///< slices of the keys, each with its own lock
};

}  // namespace crab::core
