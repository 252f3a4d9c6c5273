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

/// Connection limit of one server. Each connection holds a Slot from accept on. Unauthenticated
/// connections (newcomers) are evicted first: when the limit is reached the oldest newcomer is
/// closed, and newcomers of one address get at most a quarter of the slots. Used on the server's
/// loop; the count may be shared by servers of several loops.
class ConnectionSlots {
public:
    using Count = std::shared_ptr<std::atomic<std::size_t>>;
    class Slot;

    /// `on_left` is called whenever a slot is released.
    ConnectionSlots(std::size_t most, Count count, std::function<void()> on_left);
    ConnectionSlots(const ConnectionSlots&) = delete;
    ConnectionSlots& operator=(const ConnectionSlots&) = delete;

    /// A slot for an accepted socket, released with its last reference. At the limit a newcomer is
    /// evicted; without newcomers, this slot is beyond the limit.
    std::shared_ptr<Slot> take();
    /// Sets the slot's connection.
    void seat(const std::shared_ptr<Slot>& slot, const std::shared_ptr<Connection>& connection);

    std::size_t size() const { return slots_.size(); }
    std::vector<std::shared_ptr<Connection>> connections() const;
    const Count& count() const { return count_; }

private:
    void close(Slot& slot);
    void forget_newcomer(Slot& slot);

    const std::size_t most_, most_of_one_address_;
    const Count count_;
    const std::function<void()> on_left_;
    std::unordered_set<Slot*> slots_;
    std::list<Slot*> newcomers_;  ///< the oldest first
    /// Newcomers by PeerAddress::network()
    std::unordered_map<std::uint64_t, std::size_t> of_address_;
};

class ConnectionSlots::Slot {
public:
    explicit Slot(ConnectionSlots& slots);
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();

    /// The number of slots taken before this one.
    std::size_t before() const { return before_; }
    /// Its connection is no newcomer from here on.
    void prove() {
        proven_ = true;
        if (newcomer_) slots_.forget_newcomer(*this);
    }

private:
    friend class ConnectionSlots;
    ConnectionSlots& slots_;
    std::weak_ptr<Connection> connection_;
    std::list<Slot*>::iterator at_;
    std::uint64_t address_ = 0;
    std::size_t before_;
    bool newcomer_ = false;
    bool proven_ = false;
};

}  // namespace crab::net
