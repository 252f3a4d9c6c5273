#pragma once

#include "base/result.hpp"
#include "bus/place.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::bus {

/// What several loops listen to.
enum class Topic : std::uint8_t {
    kAll,  ///< beats and hints: every loop of every node
    kEvents,  ///< envelopes of events: nodes with an event stream
};

/// Names one copy that was sent.
enum class Receipt : std::uint64_t {};

/// One event loop's end of a bus. Called on that loop.
class Listener {
public:
    virtual ~Listener() = default;
    /// Any bytes that somebody has sent: nothing about them is checked.
    virtual void on_message(std::string_view message) = 0;
    /// The carrier knows that nobody has got this copy, and that nobody will.
    virtual void on_nobody(Receipt receipt) = 0;
};

/// Carries messages between the event loops of a fleet. At most once: each may be lost, and may
/// come however late; those between two loops stay in order while one connection lives. One per
/// event loop, used on that loop only.
class Bus {
public:
    virtual ~Bus() = default;
    /// Sends a copy to one loop. Errors: kUnavailable while there is no connection, kRateLimited
    /// when too much waits to be written; then nothing was sent.
    virtual Result<Receipt> send(const Place& to, std::string message) = 0;
    /// Sends to all that listen to the topic. Errors: as send().
    virtual Result<void> publish(Topic topic, std::string message) = 0;
    virtual bool connected() const = 0;
};

}  // namespace crab::bus
