#pragma once

#include "base/counter.hpp"
#include "bus/bus.hpp"
#include "bus/envelope.hpp"
#include "bus/fleet_keys.hpp"
#include "bus/replay_window.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

namespace crab::bus {

/// What became of messages that arrived and were not for this loop, or not from this fleet.
struct MailCounts {
    Counter taken;
    Counter forged;  ///< without a code of a key of this fleet
    Counter malformed;  ///< with one, and yet no message
    Counter misdirected;  ///< for another loop or another life of this node, or its own
    Counter replayed;
    Counter unknown_senders;  ///< beyond the bound on senders
};

/// The letter box of one event loop: seals what is sent and opens what arrives, so that behind it
/// is only what a node of this fleet has sent to this loop, once. Used on that loop.
/// Source: docs/protocols/fleet.md, section 4.
class MailBox final : public Listener {
public:
    /// Of senders, each a loop of a process, that are remembered
    static constexpr std::size_t kMostSenders = 16'384;

    /// Gets every letter once.
    class Reader {
    public:
        virtual ~Reader() = default;
        virtual void on_letter(const Envelope& envelope, std::string_view body) = 0;
        /// The copy with this receipt has reached nobody.
        virtual void on_nobody(Receipt receipt) = 0;
    };

    /// `keys` outlives the box.
    MailBox(const FleetKeys& keys, Place self) : keys_(keys), self_(self) {}

    /// Before anything is sent or read.
    void open(Bus& bus, Reader& reader) {
        bus_ = &bus;
        reader_ = &reader;
    }

    struct Letter {
        Kind kind = Kind::kBeat;
        std::uint8_t flags = 0;
        std::uint64_t tag = 0;
        std::uint32_t ms_left = 0;
    };
    struct Sent {
        Receipt receipt{};
        std::uint64_t sequence = 0;  ///< of its envelope
    };
    /// Errors: those of Bus::send(); kOversize for a body above kMostBody. Nothing was sent then.
    Result<Sent> send(const Place& to, const Letter& letter, std::string_view body);
    Result<void> publish(Topic topic, const Letter& letter, std::string_view body);

    /// No letter of this process is read any more: the node has another boot.
    void retire(Process process);

    const Place& self() const { return self_; }
    const MailCounts& counts() const { return counts_; }

private:
    void on_message(std::string_view message) override;
    void on_nobody(Receipt receipt) override { reader_->on_nobody(receipt); }
    bool is_for_me(const Envelope& envelope) const;
    bool is_new(const Envelope& envelope);
    Envelope next(const Letter& letter, const Place& to);

    const FleetKeys& keys_;
    const Place self_;
    Bus* bus_ = nullptr;
    Reader* reader_ = nullptr;
    std::uint64_t sequence_ = 0;
    std::map<Place, ReplayWindow> windows_;  ///< by sender
    std::set<Process> retired_;  ///< one for each start of another node
    MailCounts counts_;
};

}  // namespace crab::bus
