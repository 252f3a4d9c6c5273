#include "net/tls/connection_slots.hpp"

#include <algorithm>
#include <utility>

namespace crab::net {
namespace {

constexpr std::size_t kLeastOfOneAddress = 8;

}  // namespace

ConnectionSlots::ConnectionSlots(std::size_t most, Count count, std::function<void()> on_left)
    : most_(most),
      most_of_one_address_(std::max(most / 4, kLeastOfOneAddress)),
      count_(count ? std::move(count) : std::make_shared<std::atomic<std::size_t>>(0)),
      on_left_(std::move(on_left)) {}

std::shared_ptr<ConnectionSlots::Slot> ConnectionSlots::take() {
    if (count_->load(std::memory_order_relaxed) >= most_ && !newcomers_.empty())
        close(*newcomers_.front());
    return std::make_shared<Slot>(*this);
}

void ConnectionSlots::seat(const std::shared_ptr<Slot>& slot,
                           const std::shared_ptr<Connection>& connection) {
    slot->connection_ = connection;
    if (slot->proven_ || connection->fd() < 0) return;
    slot->address_ = connection->peer().network();
    if (of_address_[slot->address_] >= most_of_one_address_) {
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
    : slots_(slots), before_(slots.count_->fetch_add(1, std::memory_order_relaxed)) {
    slots_.slots_.insert(this);
}

ConnectionSlots::Slot::~Slot() {
    if (newcomer_) slots_.forget_newcomer(*this);
    slots_.slots_.erase(this);
    slots_.count_->fetch_sub(1, std::memory_order_relaxed);
    slots_.on_left_();
}

}  // namespace crab::net
