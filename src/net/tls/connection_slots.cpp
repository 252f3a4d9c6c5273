#include "net/tls/connection_slots.hpp"

#include <algorithm>
#include <utility>

namespace crab::net {
namespace {

constexpr std::size_t kLeastOfOne = 8;  // address, or owner
constexpr std::size_t kLookedAt = 64;  // owners, or newcomers
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

ConnectionCount::ConnectionCount(OutputLimits limits)
    : limits_(limits),
      output_(std::make_shared<ByteBudget>(limits.all)),
      newcomers_(std::make_shared<ByteBudget>(limits.of_newcomers, output_)) {}

std::shared_ptr<ConnectionCount::OfOwner> ConnectionCount::of(std::string_view owner) {
    const std::scoped_lock lock(mutex_);
    std::weak_ptr<OfOwner>& known = owners_[std::string(owner)];
    std::shared_ptr<OfOwner> numbers = known.lock();
    if (numbers) return numbers;
    known = numbers = std::make_shared<OfOwner>(limits_.of_owner, output_);
    if (owners_.size() >= sweep_at_) {
        std::erase_if(owners_, [](const auto& each) { return each.second.expired(); });
        sweep_at_ = std::max(sweep_at_, 2 * owners_.size());
    }
    return numbers;
}

ConnectionSlots::ConnectionSlots(Limits limits, Count count, std::function<void()> on_left)
    : most_(limits.all),
      quarter_(std::max(limits.all / 4, kLeastOfOne)),
      most_at_work_(limits.at_work_of_one_owner != 0 ? limits.at_work_of_one_owner
                                                     : std::max(limits.all / 2, kLeastOfOne)),
      proven_at_open_(limits.proven_at_open),
      count_(count ? std::move(count) : std::make_shared<ConnectionCount>()),
      on_left_(std::move(on_left)) {}

std::shared_ptr<ConnectionSlots::Slot> ConnectionSlots::take() {
    if (count_->all.load(kRelaxed) >= most_) make_way();
    return std::make_shared<Slot>(*this);
}

/// Newcomers come second, because they may be others' that are about to show who they are. Of the
/// oldest of them it is one whose address has most: a flood from one address puts out its own.
void ConnectionSlots::make_way() {
    const Owner* const largest = proven_at_open_ ? nullptr : find_largest_with_idle();
    if (largest != nullptr && (newcomers_.empty() || largest->all() > quarter_))
        return close_idle(*largest);
    if (newcomers_.size() < (proven_at_open_ ? quarter_ : 1)) return;
    Slot* chosen = nullptr;
    std::size_t most = 0, looked_at = 0;
    for (Slot* const each : newcomers_) {
        if (const std::size_t its = of_address_[each->address_]; its > most)
            chosen = each, most = its;
        if (++looked_at == kLookedAt) break;
    }
    close(*chosen);
}

/// Anybody can have this asked thousands of times a second, so not all of them are looked at.
ConnectionSlots::Owner* ConnectionSlots::find_largest_with_idle(std::string_view other_than) const {
    std::size_t looked_at = 0;
    for (auto each = by_size_.rbegin(); each != by_size_.rend() && looked_at < kLookedAt; ++each) {
        Owner& owner = *each->second;
        if (!owner.idle.empty() && (other_than.empty() || owner.name != other_than)) return &owner;
        ++looked_at;
    }
    return nullptr;
}

void ConnectionSlots::attach(const std::shared_ptr<Slot>& slot,
                             const std::shared_ptr<Connection>& connection) {
    slot->connection_ = connection;
    connection->charge_output(slot->output_budget());
    if (slot->proven() || connection->fd() < 0) return;
    slot->address_ = connection->peer().network();
    if (of_address_[slot->address_] >= quarter_) {
        const auto oldest = std::ranges::find(newcomers_, slot->address_,
                                              [](const Slot* other) { return other->address_; });
        if (oldest != newcomers_.end()) close(**oldest);
    }
    of_address_[slot->address_] += 1;
    slot->at_ = newcomers_.insert(newcomers_.end(), slot.get());
    slot->newcomer_ = true;
}

/// Closing makes its owner release the slot; if it does not, the slot at least stops being a
/// newcomer.
void ConnectionSlots::close(Slot& slot) {
    const auto connection = slot.connection_.lock();
    forget_newcomer(slot);
    if (connection) connection->close_now(CloseReason::kShutdown);
}

/// One whose answer is still on its way only if there is no other.
void ConnectionSlots::close_idle(const Owner& owner) {
    const auto is_flushed = [](const Slot* slot) {
        const auto connection = slot->connection_.lock();
        return connection && connection->queued_bytes() == 0;
    };
    auto chosen = std::ranges::find_if(owner.idle, is_flushed);
    if (chosen == owner.idle.end()) chosen = owner.idle.begin();
    if (const auto connection = (*chosen)->connection_.lock())
        connection->close_now(CloseReason::kShutdown);
}

void ConnectionSlots::own(Slot& slot, std::string_view name) {
    if (slot.newcomer_) forget_newcomer(slot);
    if (slot.owner_ != nullptr) disown(slot);
    const auto [found, is_new] = owners_.try_emplace(std::string(name));
    Owner& owner = found->second;
    if (is_new) {
        owner.name = name;
        if (!name.empty()) owner.count = count_->of(name);
    }
    slot.owner_ = &owner;
    by_size_.erase({owner.size(), &owner});
    std::list<Slot*>& list = slot.idle_ ? owner.idle : owner.busy;
    slot.at_ = list.insert(list.end(), &slot);
    by_size_.emplace(owner.size(), &owner);
    if (owner.count) {
        owner.count->all.fetch_add(1, kRelaxed);
        if (!slot.idle_) owner.count->at_work.fetch_add(1, kRelaxed);
    }
    slot.too_many_ = !slot.idle_ && has_too_many(owner);
    if (const auto connection = slot.connection_.lock())
        connection->charge_output(slot.output_budget());
}

void ConnectionSlots::disown(Slot& slot) {
    Owner& owner = *std::exchange(slot.owner_, nullptr);
    if (owner.count) {
        owner.count->all.fetch_sub(1, kRelaxed);
        if (!slot.idle_) owner.count->at_work.fetch_sub(1, kRelaxed);
    }
    by_size_.erase({owner.size(), &owner});
    (slot.idle_ ? owner.idle : owner.busy).erase(slot.at_);
    if (owner.size() != 0) {
        by_size_.emplace(owner.size(), &owner);
    } else {
        owners_.erase(owners_.find(owner.name));
    }
}

void ConnectionSlots::forget_newcomer(Slot& slot) {
    slot.newcomer_ = false;
    newcomers_.erase(slot.at_);
    const auto count = of_address_.find(slot.address_);
    if (--count->second == 0) of_address_.erase(count);
}

std::vector<std::shared_ptr<Connection>> ConnectionSlots::connections() const {
    std::vector<std::shared_ptr<Connection>> all;
    for (const Slot* const slot : slots_) {
        if (auto connection = slot->connection_.lock()) all.push_back(std::move(connection));
    }
    return all;
}

ConnectionSlots::Slot::Slot(ConnectionSlots& slots)
    : slots_(slots), before_(slots.count_->all.fetch_add(1, kRelaxed)) {
    slots_.slots_.insert(this);
}

ConnectionSlots::Slot::~Slot() {
    if (newcomer_) slots_.forget_newcomer(*this);
    if (owner_ != nullptr) slots_.disown(*this);
    slots_.slots_.erase(this);
    slots_.count_->all.fetch_sub(1, kRelaxed);
    slots_.on_left_();
}

std::shared_ptr<ByteBudget> ConnectionSlots::Slot::output_budget() const {
    if (owner_ == nullptr) return slots_.count_->output_of_newcomers();
    if (!owner_->count) return nullptr;
    return {owner_->count, &owner_->count->output};
}

bool ConnectionSlots::Slot::prove(std::string_view owner) {
    if (owner_ == nullptr || owner_->name != owner) {
        slots_.own(*this, owner);
    } else if (too_many_) {
        too_many_ = slots_.has_too_many(*owner_);
    }
    return !too_many_;
}

bool ConnectionSlots::Slot::make_way(std::string_view owner) {
    const std::size_t proven = slots_.count_->all.load(kRelaxed) - slots_.newcomers_.size();
    if (proven - (newcomer_ ? 0 : 1) < slots_.most_) return true;
    if (owner.empty()) return false;
    const Owner* const largest = slots_.find_largest_with_idle(owner);
    if (largest == nullptr || !largest->count) return false;
    if (largest->all() <= slots_.count_->of(owner)->all.load(kRelaxed) + 1) return false;
    slots_.close_idle(*largest);
    return true;
}

bool ConnectionSlots::Slot::work() {
    if (!idle_) return true;
    if (owner_ != nullptr) {
        if (const auto& count = owner_->count;
            count && count->at_work.fetch_add(1, kRelaxed) >= slots_.most_at_work_) {
            count->at_work.fetch_sub(1, kRelaxed);
            return false;
        }
        owner_->busy.splice(owner_->busy.end(), owner_->idle, at_);
    }
    idle_ = false;
    return true;
}

void ConnectionSlots::Slot::rest() {
    if (idle_) return;
    idle_ = true;
    too_many_ = false;
    if (owner_ == nullptr) return;
    if (owner_->count) owner_->count->at_work.fetch_sub(1, kRelaxed);
    owner_->idle.splice(owner_->idle.end(), owner_->busy, at_);
}

}  // namespace crab::net
