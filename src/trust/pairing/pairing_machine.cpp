#include "trust/pairing/pairing_machine.hpp"

#include <utility>

namespace crab::trust {
namespace {

// WebSocket close codes, RFC 6455 section 7.4.1.
constexpr std::uint16_t kNormalClosure = 1000;
constexpr std::uint16_t kMessageTooBig = 1009;

}  // namespace

PairingStep PairingMachine::on_message(std::string_view text) {
    if (ended_) return over();
    if (clock_.steady_now() >= deadline_) return on_deadline();
    const auto parsed = MessageText::parse(text);
    if (parsed) {
        if (const auto complaint = parsed->as_error())
            return end(ended_step(on_complaint(*complaint)));
    }
    auto answer = parsed ? next(*parsed) : std::unexpected(parsed.error());
    if (!answer) {
        PairingStep refusal = refusing_step(pairing_id_, std::move(answer.error()));
        if (text.size() > kMostMessageBytes) refusal.close = kMessageTooBig;
        return end(std::move(refusal));
    }
    PairingStep step{.send = std::move(*answer), .close = {}, .error = {}};
    if (is_complete()) {
        step.close = kNormalClosure;
        return end(std::move(step));
    }
    if (clock_.steady_now() >= deadline_) return on_deadline();
    return step;
}

PairingStep PairingMachine::on_deadline() {
    if (ended_) return over();
    return end(refusing_step(pairing_id_,
                             {PairingCode::kTimeout, "the handshake took more than 15 seconds"}));
}

PairingStep PairingMachine::on_closed() {
    if (ended_) return over();
    return end(
        ended_step({PairingCode::kUnreachable, std::string(what_a_lost_connection_means())}));
}

PairingError PairingMachine::told(std::optional<PairingCode> code, const PairError& complaint,
                                  std::string_view who) {
    const std::string what =
        one_line(code ? complaint.message : complaint.code + ": " + complaint.message);
    return {code.value_or(PairingCode::kRemoteRefused), std::string(who) + " says: " + what};
}

PairingStep PairingMachine::end(PairingStep step) {
    ended_ = true;
    failure_ = step.error;
    return step;
}

PairingStep PairingMachine::over() const {
    return {.send = {}, .close = kNormalClosure, .error = failure_};
}

}  // namespace crab::trust
