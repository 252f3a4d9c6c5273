#pragma once

#include "bus/mail_box.hpp"
#include "fleet/beats.hpp"
#include "fleet/forwarder.hpp"
#include "fleet/letters.hpp"
#include "fleet/moved_calls.hpp"
#include "fleet/owner.hpp"

#include <functional>

namespace crab::fleet {

/// What one event loop of a node has of its fleet, wired: its mail box, who lives, calls that it
/// forwards, calls that it runs for others. Calls forwarded to a node go to its first loop, which
/// alone says beats: they name the newest beat of the process. Used on its loop.
class LoopOfNode {
public:
    struct Uses {
        const bus::FleetKeys& keys;
        bus::Place self;
        std::uint32_t incarnation;  ///< under which the process has begun
        Directory& directory;
        core::CallRunner& here;  ///< this loop's pipeline
        core::RunningCalls* running = nullptr;  ///< as in Forwarder::Uses
        std::function<bool(const ForwardHead&)> is_here;  ///< as in Owner::Uses
        std::function<void(std::string_view body)> on_hint;  ///< as in Letters::Uses
        IdSource& ids;
        const Clock& clock;
        Executor home;
        TimerWheel& timers;
    };
    explicit LoopOfNode(const Uses& uses);

    /// `bus` has `mail` as its listener, and outlives this.
    void open(bus::Bus& bus) { mail.open(bus, letters); }
    /// Says beats from now on.
    void start() { letters.start(); }
    /// Ends beats and what runs for others.
    void stop(std::function<void()> done);

    bus::MailBox mail;
    Beats beats;
    Forwarder forwarder;
    Owner owner;
    MovedCalls moved;
    Letters letters;
};

}  // namespace crab::fleet
