#pragma once

#include "net/tls/connection.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace crab::net {

/// Connection limit of one server. Each connection holds a Place from accept on. Unauthenticated
/// connections (newcomers) are evicted first: when the limit is reached the oldest newcomer is
/// closed, and newcomers of one address get at most a quarter of the places. Used on the server's
/// loop; the count may be shared by servers of several loops.
class ConnectionPlaces {
public:
    using Count = std::shared_ptr<std::atomic<std::size_t>>;
    class Place;

    /// `on_left` is called whenever a place is released.
    ConnectionPlaces(std::size_t most, Count count, std::function<void()> on_left);
    ConnectionPlaces(const ConnectionPlaces&) = delete;
    ConnectionPlaces& operator=(const ConnectionPlaces&) = delete;

    /// A place for an accepted socket, released with its last reference. At the limit a newcomer is
    /// evicted; without newcomers, this place is beyond the limit.
    std::shared_ptr<Place> take();
    /// Sets the place's connection.
    void seat(const std::shared_ptr<Place>& place, const std::shared_ptr<Connection>& connection);

    std::size_t size() const { return places_.size(); }
    std::vector<std::shared_ptr<Connection>> connections() const;
    const Count& count() const { return count_; }

private:
    void close(Place& place);
    void forget_newcomer(Place& place);

    const std::size_t most_, most_of_one_address_;
    const Count count_;
    const std::function<void()> on_left_;
    std::unordered_set<Place*> places_;
    std::list<Place*> newcomers_;  ///< the oldest first
    /// Newcomers by PeerAddress::network()
    std::unordered_map<std::uint64_t, std::size_t> of_address_;
};

class ConnectionPlaces::Place {
public:
    explicit Place(ConnectionPlaces& places);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    /// The number of places taken before this one.
    std::size_t before() const { return before_; }
    /// Its connection is no newcomer from here on.
    void prove() {
        proven_ = true;
        if (newcomer_) places_.forget_newcomer(*this);
    }

private:
    friend class ConnectionPlaces;
    ConnectionPlaces& places_;
    std::weak_ptr<Connection> connection_;
    std::list<Place*>::iterator at_;
    std::uint64_t address_ = 0;
    std::size_t before_;
    bool newcomer_ = false;
    bool proven_ = false;
};

}  // namespace crab::net
