#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "bus/bus.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crab::bus::local {

/// What becomes of copies, in thousandths.
struct Faults {
    std::uint32_t lost = 0;
    std::uint32_t doubled = 0;
    std::uint32_t late = 0;  ///< delayed by up to `most_late` more; overtaken by others
    Milliseconds least_delay{1};
    Milliseconds most_delay{3};
    Milliseconds most_late{30'000};
    bool in_order = true;  ///< what is not late keeps its order between two places
};

/// A bus inside one process under a simulated clock: it loses, doubles, delays and reorders by its
/// seed, so that a test of a fleet runs the same way again. Used on one thread.
class LocalNetwork {
public:
    LocalNetwork(const Clock& clock, std::uint64_t seed) : clock_(clock), random_(clock, seed) {}
    ~LocalNetwork();

    /// Joins; `listener` gets what is for `self`. Leaves when the bus is destroyed.
    std::unique_ptr<Bus> connect(const Place& self, Listener& listener);

    void set_faults(const Faults& faults) { faults_ = faults; }
    /// What this node sends to that one is lost; not what comes back.
    void cut(std::uint16_t from, std::uint16_t to) { cut_.emplace(from, to); }
    void heal() { cut_.clear(); }
    /// The process stands still: what comes for it waits, and is delivered after resume().
    void pause(std::uint16_t node) { paused_.insert(node); }
    void resume(std::uint16_t node) { paused_.erase(node); }
    /// The carrier itself stands still: nothing is delivered until it goes on.
    void stop() { stopped_ = true; }
    void go_on() { stopped_ = false; }

    /// When something is due next; nothing if nothing is under way.
    std::optional<SteadyTime> next_due() const;
    /// Delivers the next of what is due now; false if nothing is.
    bool deliver_one();

    struct Counts {
        std::uint64_t sent = 0, lost = 0, doubled = 0, late = 0, delivered = 0, nobody = 0;
    };
    const Counts& counts() const { return counts_; }

private:
    class End;
    /// A message as it was sent: its copies are of one receipt.
    struct Sent {
        Receipt receipt{};
        Place from, to;
        std::string message;
        std::uint32_t copies = 0;  ///< still under way
        bool reached = false;
        bool lost = false;  ///< one was, so that nothing is known of it
    };
    struct Copy {
        std::shared_ptr<Sent> sent;
        bool bounce = false;  ///< the news that nobody has got it, on the way back
    };

    bool chance(std::uint32_t thousandths);
    Milliseconds between(Milliseconds least, Milliseconds most);
    Receipt send(const Place& from, const Place& to, std::string message);
    void launch(const std::shared_ptr<Sent>& sent, bool bounce);
    bool is_cut(std::uint16_t from, std::uint16_t to) const { return cut_.contains({from, to}); }
    bool waits(const Copy& copy) const;
    void arrive(const Copy& copy);

    const Clock& clock_;
    IdSource random_;
    Faults faults_;
    std::map<Place, End*> ends_;
    std::multimap<SteadyTime, Copy> under_way_;
    std::map<std::pair<Place, Place>, SteadyTime> last_;  ///< for order
    std::set<std::pair<std::uint16_t, std::uint16_t>> cut_;
    std::set<std::uint16_t> paused_;
    bool stopped_ = false;
    std::uint64_t receipts_ = 0;
    Counts counts_;
};

}  // namespace crab::bus::local
