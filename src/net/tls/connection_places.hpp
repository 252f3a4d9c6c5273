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

/// The connections of one server, from accept on. Each holds a Place, and the count is that of the
/// places there are, so that no way of ending, a handshake that never does included, leaves one
/// counted. Those that have not proven who they are, newcomers, are the first to go: when there is
/// no room the oldest of them makes way, and one address has a quarter of the places for them at
/// most. Used on the server's loop; the count may be shared by servers of several loops.
class ConnectionPlaces {
public:
    using Count = std::shared_ptr<std::atomic<std::size_t>>;
    class Place;

    /// `on_left` is called whenever a place is free again.
    ConnectionPlaces(std::size_t most, Count count, std::function<void()> on_left);
    ConnectionPlaces(const ConnectionPlaces&) = delete;
    ConnectionPlaces& operator=(const ConnectionPlaces&) = delete;

    /// A place for a socket that was accepted; it is free when the last owner lets go of it. When
    /// all are taken a newcomer is closed for it; without any, this one is beyond the limit.
    std::shared_ptr<Place> take();
    /// The place's connection, once it is made.
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

    /// Of all places that were taken before this one.
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
