#include "core/ledger/ledger.hpp"

#include "base/hash.hpp"
#include "base/ordered_mutex.hpp"
#include "core/ledger/outcome_ring.hpp"

#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    return x ^ (x >> 28);
}

}  // namespace

/// A slice of the keys: an open-addressing index (linear probing) over running calls and over the
/// ring of finished ones.
class Ledger::Stripe {
public:
    explicit Stripe(std::size_t ring_bytes)
        : ring_(ring_bytes, [this](std::uint64_t high, std::uint64_t low) { erase({high, low}); }),
          index_(kFirstIndex) {}

    struct Running {
        std::vector<std::shared_ptr<Joiner>> joiners;
        WhileRunning repeats = WhileRunning::kJoin;
        std::function<void()> deserted;   ///< empty: whoever began it waits for it
    };
    struct Place {
        Key key{};
        std::uint64_t content = 0;
        std::uint64_t where = kEmpty;   ///< in the ring, or a running call with the top bit set
    };
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    static constexpr std::uint64_t kRunningBit = std::uint64_t{1} << 63;

    Place* find(const Key& key) {
        for (std::size_t at = key.low & mask();; at = (at + 1) & mask()) {
            Place& place = index_[at];
            if (place.where == kEmpty) return nullptr;
            if (place.key == key) return &place;
        }
    }

    void insert_running(const Key& key, std::uint64_t content, WhileRunning repeats) {
        if ((used_ + 1) * 2 > index_.size()) grow();
        std::uint64_t slot = 0;
        if (free_.empty()) {
            slot = running_.size();
            running_.emplace_back();
        } else {
            slot = free_.back();
            free_.pop_back();
        }
        running_[slot].repeats = repeats;
        put({.key = key, .content = content, .where = kRunningBit | slot});
        ++used_;
    }

    /// Ends a running call and returns who waited for it.
    std::vector<std::shared_ptr<Joiner>> end_running(const Key& key, const OutcomeRef& outcome,
                                                     std::chrono::nanoseconds duration,
                                                     SteadyTime until) {
        Place* place = find(key);
        if (place == nullptr || (place->where & kRunningBit) == 0) return {};
        const std::uint64_t slot = place->where & ~kRunningBit;
        auto joiners = std::exchange(running_[slot].joiners, {});
        running_[slot].deserted = nullptr;
        free_.push_back(slot);
        if (!outcome) {
            erase(key);
            return joiners;
        }
        // may drop others and so move this place
        const auto where = ring_.add(key.high, key.low, {outcome, duration}, until);
        if (where) {
            find(key)->where = *where;
        } else {
            erase(key);
        }
        return joiners;
    }

    /// Asks for the memory where `low` is looked for: a table of many keys is never all in the
    /// cache.
    void prefetch(std::uint64_t low) const { __builtin_prefetch(&index_[low & mask()], 1); }
    /// Before the call that makes room in a full ring: what that will erase.
    void prefetch_next_to_drop() const {
        if (const auto low = ring_.next_to_drop()) prefetch(*low);
    }

    void erase(const Key& key) {
        Place* place = find(key);
        if (place == nullptr) return;
        // Backward shift: whoever probed past this place moves up, so that no tombstones remain
        // (Knuth, 6.4, algorithm R).
        std::size_t hole = static_cast<std::size_t>(place - index_.data());
        for (std::size_t at = (hole + 1) & mask(); index_[at].where != kEmpty;
             at = (at + 1) & mask()) {
            const std::size_t home = index_[at].key.low & mask();
            if (((at - home) & mask()) >= ((at - hole) & mask())) {
                index_[hole] = index_[at];
                hole = at;
            }
        }
        index_[hole].where = kEmpty;
        --used_;
    }

    OrderedMutex<LockRank::kLedger> mutex;
    OutcomeRing& ring() { return ring_; }
    Running& running(std::uint64_t where) { return running_[where & ~kRunningBit]; }
    std::size_t used() const { return used_; }

private:
    static constexpr std::size_t kFirstIndex = 1024;
    std::size_t mask() const { return index_.size() - 1; }
    void put(const Place& place) {
        std::size_t at = place.key.low & mask();
        while (index_[at].where != kEmpty) at = (at + 1) & mask();
        index_[at] = place;
    }
    void grow() {
        std::vector<Place> old(index_.size() * 2);
        old.swap(index_);
        for (const Place& place : old) {
            if (place.where != kEmpty) put(place);
        }
    }

    OutcomeRing ring_;
    std::vector<Place> index_;
    std::size_t used_ = 0;
    std::vector<Running> running_;
    std::vector<std::uint64_t> free_;
};

/// Where a join is to be removed from.
struct Ledger::Join::Place {
    Ledger* ledger;
    Key key;
    std::string who;
};

Ledger::Join::Join() = default;
Ledger::Join::Join(Join&&) noexcept = default;
Ledger::Join::~Join() { leave(); }

Ledger::Join& Ledger::Join::operator=(Join&& other) noexcept {
    if (this != &other) {
        leave();
        place_ = std::move(other.place_);
        joiner_ = std::move(other.joiner_);
    }
    return *this;
}

void Ledger::Join::leave() {
    if (const auto place = std::exchange(place_, nullptr))
        place->ledger->leave(*place, joiner_.get());
}

Ledger::Ledger(const Clock& clock, Options options) : clock_(clock), options_(options) {
    for (auto& stripe : stripes_) stripe = std::make_unique<Stripe>(options_.max_bytes / kStripes);
}

Ledger::~Ledger() = default;

Ledger::Ticket::Ticket(Ticket&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)), high_(other.high_), low_(other.low_) {}

Ledger::Ticket& Ledger::Ticket::operator=(Ticket&& other) noexcept {
    if (this != &other) {
        finish(nullptr);
        ledger_ = std::exchange(other.ledger_, nullptr);
        high_ = other.high_;
        low_ = other.low_;
    }
    return *this;
}

Ledger::Ticket::~Ticket() { finish(nullptr); }

void Ledger::Ticket::finish(OutcomeRef outcome, std::chrono::nanoseconds duration) {
    if (ledger_ != nullptr)
        std::exchange(ledger_, nullptr)->finish({high_, low_}, std::move(outcome), duration);
}

Ledger::Key Ledger::key_of(const LedgerKey& key) {
    const std::uint64_t owner = mix(hash_text(key.tenant)) * 31 + mix(hash_text(key.principal));
    const std::uint64_t name = hash_text(key.key);
    return {mix(owner ^ (name * 0x9e3779b97f4a7c15ULL)), mix(owner + name)};
}

bool Ledger::has_finished(const LedgerKey& wanted) const {
    const Key key = key_of(wanted);
    Stripe& stripe = stripe_of(key);
    const std::scoped_lock lock(stripe.mutex);
    const Stripe::Place* place = stripe.find(key);
    return place != nullptr && (place->where & Stripe::kRunningBit) == 0;
}

Ledger::Answer Ledger::admit(const LedgerKey& wanted, std::uint64_t content, const Executor& home,
                             TimerWheel& timers, WhileRunning repeats) {
    const Key key = key_of(wanted);
    Answer answer;
    Stripe& stripe = stripe_of(key);
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(stripe.mutex);
    stripe.prefetch(key.low);
    stripe.ring().expire(now);
    stripe.prefetch_next_to_drop();
    Stripe::Place* place = stripe.find(key);
    if (place == nullptr) {
        stripe.insert_running(key, content, repeats);
        answer.ticket.ledger_ = this;
        answer.ticket.high_ = key.high;
        answer.ticket.low_ = key.low;
    } else if (place->content != content) {
        answer.admission = Admission::kConflict;
    } else if ((place->where & Stripe::kRunningBit) == 0) {
        answer.admission = Admission::kReplay;
        auto kept = stripe.ring().get(place->where);
        answer.outcome = std::move(kept.outcome);
        answer.duration = kept.duration;
    } else if (stripe.running(place->where).repeats == WhileRunning::kBusy) {
        answer.admission = Admission::kBusy;
    } else if (std::string who = fmt::format("{}\n{}", wanted.tenant, wanted.principal);
               stripe.running(place->where).joiners.size() >= options_.max_joins ||
               !count_join(who)) {
        answer.admission = Admission::kTooMany;
    } else {
        answer.admission = Admission::kJoin;
        answer.joiner.place_.reset(
            new Join::Place{.ledger = this, .key = key, .who = std::move(who)});
        answer.joiner.joiner_ = std::make_shared<Joiner>(home, timers);
        stripe.running(place->where).joiners.push_back(answer.joiner.joiner_);
    }
    return answer;
}

bool Ledger::count_join(const std::string& who) {
    const std::scoped_lock lock(joins_mutex_);
    std::size_t& count = joins_[who];
    if (count >= options_.max_joins_per_principal) return false;
    ++count;
    return true;
}

void Ledger::leave(const Join::Place& place, const Joiner* joiner) {
    std::function<void()> deserted;
    {
        Stripe& stripe = stripe_of(place.key);
        const std::scoped_lock lock(stripe.mutex);
        const Stripe::Place* const call = stripe.find(place.key);
        if (call != nullptr && (call->where & Stripe::kRunningBit) != 0) {
            Stripe::Running& running = stripe.running(call->where);
            const auto gone = std::erase_if(running.joiners,
                                            [&](const auto& each) { return each.get() == joiner; });
            if (gone > 0 && running.joiners.empty())
                deserted = std::exchange(running.deserted, nullptr);
        }
    }
    if (deserted) deserted();
    const std::scoped_lock lock(joins_mutex_);
    const auto count = joins_.find(place.who);
    if (--count->second == 0) joins_.erase(count);
}

std::size_t Ledger::joins() const {
    const std::scoped_lock lock(joins_mutex_);
    std::size_t count = 0;
    for (const auto& [who, waiting] : joins_) count += waiting;
    return count;
}

bool Ledger::goes_on_for_others(const LedgerKey& wanted, std::function<void()> deserted) {
    const Key key = key_of(wanted);
    Stripe& stripe = stripe_of(key);
    const std::scoped_lock lock(stripe.mutex);
    const Stripe::Place* const place = stripe.find(key);
    if (place == nullptr || (place->where & Stripe::kRunningBit) == 0) return false;
    Stripe::Running& running = stripe.running(place->where);
    if (running.joiners.empty()) return false;
    running.deserted = std::move(deserted);
    return true;
}

void Ledger::finish(const Key& key, OutcomeRef outcome, std::chrono::nanoseconds duration) {
    std::vector<std::shared_ptr<Joiner>> joiners;
    {
        Stripe& stripe = stripe_of(key);
        const std::scoped_lock lock(stripe.mutex);
        joiners = stripe.end_running(key, outcome, duration, clock_.steady_now() + options_.keep);
    }
    for (const auto& joiner : joiners) {
        joiner->outcome = outcome;  // its thread reads it after the wake, which is posted
        joiner->wake();
    }
}

std::size_t Ledger::entries() const {
    std::size_t count = 0;
    for (const auto& stripe : stripes_) {
        const std::scoped_lock lock(stripe->mutex);
        count += stripe->used();
    }
    return count;
}

}  // namespace crab::core
