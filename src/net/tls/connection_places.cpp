#include "net/tls/connection_places.hpp"

#include <algorithm>
#include <utility>

namespace crab::net {
namespace {

constexpr std::size_t kLeastOfOneAddress = 8;

}  // namespace

ConnectionPlaces::ConnectionPlaces(std::size_t most, Count count, std::function<void()> on_left)
    : most_(most),
      most_of_one_address_(std::max(most / 4, kLeastOfOneAddress)),
      count_(count ? std::move(count) : std::make_shared<std::atomic<std::size_t>>(0)),
      on_left_(std::move(on_left)) {}

std::shared_ptr<ConnectionPlaces::Place> ConnectionPlaces::take() {
    if (count_->load(std::memory_order_relaxed) >= most_ && !newcomers_.empty())
        close(*newcomers_.front());
    return std::make_shared<Place>(*this);
}

void ConnectionPlaces::seat(const std::shared_ptr<Place>& place,
                            const std::shared_ptr<Connection>& connection) {
    place->connection_ = connection;
    if (place->proven_ || connection->fd() < 0) return;
    place->address_ = connection->peer().network();
    if (of_address_[place->address_] >= most_of_one_address_) {
        const auto oldest = std::ranges::find(newcomers_, place->address_,
                                              [](const Place* other) { return other->address_; });
        if (oldest != newcomers_.end()) close(**oldest);
    }
    of_address_[place->address_] += 1;
    place->at_ = newcomers_.insert(newcomers_.end(), place.get());
    place->newcomer_ = true;
}

/// Closing makes its owner release the place; if it does not, the place at least stops being a
/// newcomer.
void ConnectionPlaces::close(Place& place) {
    const auto connection = place.connection_.lock();
    forget_newcomer(place);
    if (connection) connection->close_now(CloseReason::kShutdown);
}

void ConnectionPlaces::forget_newcomer(Place& place) {
    place.newcomer_ = false;
    newcomers_.erase(place.at_);
    const auto count = of_address_.find(place.address_);
    if (--count->second == 0) of_address_.erase(count);
}

std::vector<std::shared_ptr<Connection>> ConnectionPlaces::connections() const {
    std::vector<std::shared_ptr<Connection>> all;
    for (const Place* const place : places_) {
        if (auto connection = place->connection_.lock()) all.push_back(std::move(connection));
    }
    return all;
}

ConnectionPlaces::Place::Place(ConnectionPlaces& places)
    : places_(places), before_(places.count_->fetch_add(1, std::memory_order_relaxed)) {
    places_.places_.insert(this);
}

ConnectionPlaces::Place::~Place() {
    if (newcomer_) places_.forget_newcomer(*this);
    places_.places_.erase(this);
    places_.count_->fetch_sub(1, std::memory_order_relaxed);
    places_.on_left_();
}

}  // namespace crab::net
