#pragma once

#include "base/byte_budget.hpp"
#include "net/tls/connection.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace crab::net {

/// What the servers of one listener count together, a server for each event loop. From any thread.
class ConnectionCount {
public:
    using Number = std::atomic<std::size_t>;
    struct OfOwner {
        OfOwner(std::size_t most_output, std::shared_ptr<ByteBudget> of_all)
            : output(most_output, std::move(of_all)) {}
        Number all = 0;
        Number at_work = 0;  ///< on which something is served
        ByteBudget output;  ///< that is queued and not taken
    };
    /// Limits on output that is queued and not taken, in bytes.
    struct OutputLimits {
        std::size_t of_owner = std::size_t{128} << 20;
        std::size_t of_newcomers = std::size_t{64} << 20;  ///< of all together
        std::size_t all = std::size_t{512} << 20;
    };
    ConnectionCount() : ConnectionCount(OutputLimits{}) {}
    explicit ConnectionCount(OutputLimits limits);

    Number all = 0;
    /// The numbers of `owner`; the same for all who hold them.
    std::shared_ptr<OfOwner> of(std::string_view owner);
    const std::shared_ptr<ByteBudget>& output_of_newcomers() const { return newcomers_; }

private:
    const OutputLimits limits_;
    const std::shared_ptr<ByteBudget> output_, newcomers_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<OfOwner>> owners_;
    std::size_t sweep_at_ = 64;
};

/// Connection limit of one server. Each connection holds a Slot from accept on. When the limit is
/// reached one makes way: the longest idle one of an owner that has more than a quarter of the
/// slots, else an old unauthenticated one (newcomer), of the address with most; else the longest
/// idle one of whoever has most, of those on this loop. Newcomers of one address get a quarter of
/// the slots at most, and an owner has something served on half of them. So whoever is known cannot
/// shut the others out, with connections that ask nothing or with such as are kept busy. Used on
/// the server's loop; the count may be shared by servers of several loops.
class ConnectionSlots {
public:
    using Count = std::shared_ptr<ConnectionCount>;
    class Slot;
    struct Limits {
        std::size_t all;
        std::size_t at_work_of_one_owner = 0;  ///< 0: half of `all`, but at least 8
        /// Each is proven as it opens, and nothing closed for it before that (Slot::make_way());
        /// newcomers count beside `all`: they have what is free of it, and a quarter at least.
        bool proven_at_open = false;
    };

    /// `on_left` is called whenever a slot is released.
    ConnectionSlots(Limits limits, Count count, std::function<void()> on_left);
    ConnectionSlots(const ConnectionSlots&) = delete;
    ConnectionSlots& operator=(const ConnectionSlots&) = delete;

    /// A slot for an accepted socket, released with its last reference. At the limit an idle
    /// connection or a newcomer is closed; where all are at work, this slot is beyond the limit.
    std::shared_ptr<Slot> take();
    /// Sets the slot's connection.
    void attach(const std::shared_ptr<Slot>& slot, const std::shared_ptr<Connection>& connection);

    std::size_t size() const { return slots_.size(); }
    std::vector<std::shared_ptr<Connection>> connections() const;

private:
    /// The authenticated connections of one principal.
    struct Owner {
        std::string name;
        std::shared_ptr<ConnectionCount::OfOwner> count;  ///< on all loops; null: not limited
        std::list<Slot*> busy, idle;  ///< the longest in this state first
        std::size_t size() const { return busy.size() + idle.size(); }
        std::size_t all() const {
            return count ? count->all.load(std::memory_order_relaxed) : size();
        }
    };
    void make_way();
    void close(Slot& slot);
    Owner* find_largest_with_idle(std::string_view other_than = {}) const;
    void close_idle(const Owner& owner);
    void forget_newcomer(Slot& slot);
    void own(Slot& slot, std::string_view owner);
    void disown(Slot& slot);
    bool has_too_many(const Owner& owner) const {
        return owner.count && owner.count->at_work.load(std::memory_order_relaxed) > most_at_work_;
    }

    const std::size_t most_, quarter_, most_at_work_;
    const bool proven_at_open_;
    const Count count_;
    const std::function<void()> on_left_;
    std::unordered_set<Slot*> slots_;
    std::list<Slot*> newcomers_;  ///< the oldest first
    /// Newcomers by PeerAddress::network()
    std::unordered_map<std::uint64_t, std::size_t> of_address_;
    std::unordered_map<std::string, Owner> owners_;
    std::set<std::pair<std::size_t, Owner*>> by_size_;  ///< on this loop
};

class ConnectionSlots::Slot {
public:
    explicit Slot(ConnectionSlots& slots);
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();

    /// The number of slots taken before this one.
    std::size_t before() const { return before_; }
    bool proven() const { return owner_ != nullptr; }
    /// For what its connection is sent and does not take; null: nobody's, which is not limited.
    std::shared_ptr<ByteBudget> output_budget() const;
    /// Its connection is no newcomer from here on and counts as that of `owner`, who was proven
    /// last; an empty one is nobody, and has no limit. False: with it the owner has too many at
    /// work; serve nothing.
    bool prove(std::string_view owner);
    /// Before prove(), where all are proven at open: if so many are, the longest idle one of
    /// somebody with more than `owner` makes way. False: there is none. It is refused and stays a
    /// newcomer, so that whoever does not take the refusal keeps nobody out.
    bool make_way(std::string_view owner);
    /// Something is served on its connection from here on, which is then not closed for others; a
    /// new one is idle. False, and nothing has changed: its owner has too many at work.
    bool work();
    void rest();

private:
    friend class ConnectionSlots;
    ConnectionSlots& slots_;
    std::weak_ptr<Connection> connection_;
    std::list<Slot*>::iterator at_;  ///< among the newcomers, or its owner's
    Owner* owner_ = nullptr;  ///< null: not proven
    std::uint64_t address_ = 0;
    std::size_t before_;
    bool newcomer_ = false;
    bool idle_ = true;
    bool too_many_ = false;  ///< its owner had, when it was proven at work
};

}  // namespace crab::net
