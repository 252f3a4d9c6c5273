#include "trust/pairing/pairing_step.hpp"

namespace crab::trust {
namespace {

constexpr std::uint16_t kNormal = 1000;
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::uint16_t kServerError = 1011;

bool is_our_fault(PairingCode code) {
    return code == PairingCode::kPersistFailed || code == PairingCode::kInternal;
}

}  // namespace

PairingStep refusing_step(std::string pairing_id, PairingError error) {
    PairingStep step;
    step.send.push_back(to_wire(
        PairError{std::move(pairing_id), std::string(token_of(error.code)), error.message}));
    step.close = is_our_fault(error.code) ? kServerError : kPolicyViolation;
    step.error = std::move(error);
    return step;
}

PairingStep ended_step(PairingError error) {
    PairingStep step;
    step.close = kNormal;
    step.error = std::move(error);
    return step;
}

std::string one_line(std::string_view text) {
    constexpr std::size_t kMost = 256;
    std::size_t size = std::min(text.size(), kMost);
    // not inside a character
    while (size < text.size() && size > 0 &&
           (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
        --size;
    std::string line(text.substr(0, size));
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return line;
}

}  // namespace crab::trust
