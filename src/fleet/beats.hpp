#pragma once

#include "base/clock.hpp"
#include "bus/place.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace crab::fleet {

/// Who lives, and how old a message may be. A node says a number to all every kEvery; what starts
/// or decides something names the newest number of its receiver that its sender has heard, and the
/// receiver knows when it said that. No clocks are compared. Used on one loop.
/// Source: docs/protocols/fleet.md, section 4, "Late messages".
class Beats {
public:
    static constexpr std::chrono::seconds kEvery{2};
    static constexpr std::chrono::seconds kStale{12};
    static constexpr std::chrono::seconds kSilent{8};
    static constexpr std::size_t kMostProcesses = 16'384;

    /// `incarnation`: of this node as this process began, greater than all of its earlier ones.
    /// The numbers of a process begin there: those of a later incarnation are greater.
    Beats(const Clock& clock, std::uint32_t incarnation)
        : clock_(clock), said_(std::uint64_t{incarnation} << 32) {}

    /// The number to say now.
    std::uint64_t next();
    /// Whether this process has said that number at most kStale ago.
    bool is_fresh(std::uint64_t own) const;

    /// What an earlier incarnation of a node says is ignored once a later one was heard.
    void hear(bus::Process process, std::uint64_t number);
    /// The newest number of a process; nothing if it was not heard for kSilent: nothing is sent to
    /// it then.
    std::optional<std::uint64_t> newest_of(bus::Process process) const;
    /// How many processes were heard lately.
    std::size_t living() const;
    /// Whether its node was heard in a later incarnation.
    bool is_replaced(bus::Process process) const;

private:
    struct Said {
        std::uint64_t number;
        SteadyTime at;
    };
    struct Heard {
        SteadyTime last;
        std::uint64_t number = 0;
    };

    bool has_later(bus::Process process, std::uint64_t number) const;

    const Clock& clock_;
    std::uint64_t said_;
    std::deque<Said> recent_;  ///< those that are fresh, and a few more
    std::map<bus::Process, Heard> heard_;
};

}  // namespace crab::fleet
