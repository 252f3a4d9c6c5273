#pragma once

#include "base/clock.hpp"
#include "trust/pairing/message_text.hpp"
#include "trust/pairing/pairing_step.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::trust {

/// Common part of both sides of a pairing: handles messages until it succeeds, fails, times out or
/// loses its connection. After the end each function repeats how it ended, and sends nothing. Not
/// thread-safe.
class PairingMachine {
public:
    virtual ~PairingMachine() = default;

    PairingStep on_message(std::string_view text);
    PairingStep on_deadline();
    PairingStep on_closed();

protected:
    /// What is sent in answer to a message.
    using Texts = PairingResult<std::vector<std::string>>;

    PairingMachine(const Clock& clock, Deadline deadline, std::string pairing_id = {})
        : pairing_id_(std::move(pairing_id)), clock_(clock), deadline_(deadline) {}
    PairingMachine(const PairingMachine&) = default;

    bool ended() const { return ended_; }
    PairingStep end(PairingStep step);
    /// Converts a pair.error of `who` to an error; `code` is nothing when that side may not send
    /// the code.
    static PairingError told(std::optional<PairingCode> code, const PairError& complaint,
                             std::string_view who);

    std::string pairing_id_;

private:
    virtual Texts next(const MessageText& text) = 0;
    /// The other side sent pair.error.
    virtual PairingError on_complaint(const PairError& complaint) = 0;
    /// Whether next() has completed the pairing.
    virtual bool is_complete() const = 0;
    virtual std::string_view what_a_lost_connection_means() const = 0;
    PairingStep over() const;

    const Clock& clock_;
    Deadline deadline_;
    std::optional<PairingError> failure_;
    bool ended_ = false;
};

}  // namespace crab::trust
