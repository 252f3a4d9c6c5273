#include "core/ledger.hpp"

#include <functional>
#include <utility>

namespace crab::core {
namespace {

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    return x ^ (x >> 28);
}

std::size_t cost_of(const Outcome& outcome) {
    constexpr std::size_t kEntry = 256;  // map node, list element, shared state
    return kEntry + (outcome ? outcome->content.size() : outcome.error().message.size() + outcome.error().details.size());
}

}  // namespace

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

void Ledger::Ticket::finish(OutcomeRef outcome) {
    if (ledger_ != nullptr) std::exchange(ledger_, nullptr)->finish({high_, low_}, std::move(outcome));
}

Ledger::Answer Ledger::admit(const LedgerKey& key, std::uint64_t content, const asio::any_io_executor& home, TimerWheel& timers) {
    const std::hash<std::string_view> hash;
    const std::uint64_t owner = mix(hash(key.tenant)) * 31 + mix(hash(key.principal));
    const Hash128 id{mix(owner ^ (hash(key.key) * 0x9e3779b97f4a7c15ULL)), mix(owner + hash(key.key))};
    Answer answer;
    Stripe& stripe = stripe_of(id);
    const std::scoped_lock lock(stripe.mutex);
    evict(stripe, clock_.steady_now());
    const auto [it, fresh] = stripe.entries.try_emplace(id);
    Entry& entry = it->second;
    if (fresh) {
        entry.content = content;
        answer.ticket.ledger_ = this;
        answer.ticket.high_ = id.high;
        answer.ticket.low_ = id.low;
    } else if (entry.content != content) {
        answer.admission = Admission::kConflict;
    } else if (entry.outcome) {
        answer.admission = Admission::kReplay;
        answer.outcome = entry.outcome;
    } else {
        answer.admission = Admission::kJoin;
        answer.joiner = std::make_shared<Joiner>(home, timers);
        entry.joiners.push_back(answer.joiner);
    }
    return answer;
}

void Ledger::finish(const Hash128& id, OutcomeRef outcome) {
    std::vector<std::shared_ptr<Joiner>> joiners;
    {
        Stripe& stripe = stripe_of(id);
        const std::scoped_lock lock(stripe.mutex);
        const auto it = stripe.entries.find(id);
        if (it == stripe.entries.end()) return;
        joiners = std::move(it->second.joiners);
        for (const auto& joiner : joiners) joiner->outcome = outcome;
        if (outcome) {
            const std::size_t bytes = cost_of(*outcome);
            it->second.outcome = std::move(outcome);
            stripe.bytes += bytes;
            stripe.finished.push_back({id, clock_.steady_now() + options_.keep, bytes});
        } else {
            stripe.entries.erase(it);
        }
    }
    for (const auto& joiner : joiners) joiner->wake();
}

void Ledger::evict(Stripe& stripe, SteadyTime now) {
    while (!stripe.finished.empty() && (stripe.bytes > options_.max_bytes / kStripes || stripe.finished.front().until <= now)) {
        stripe.bytes -= stripe.finished.front().bytes;
        stripe.entries.erase(stripe.finished.front().hash);
        stripe.finished.pop_front();
    }
}

std::size_t Ledger::entries() const {
    std::size_t count = 0;
    for (const Stripe& stripe : stripes_) {
        const std::scoped_lock lock(stripe.mutex);
        count += stripe.entries.size();
    }
    return count;
}

}  // namespace crab::core
