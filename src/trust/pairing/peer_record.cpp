#include "trust/pairing/peer_record.hpp"

#include <array>

namespace crab::trust {
namespace {

template <class Choice, std::size_t N>
std::optional<Choice> find_by_text(const std::array<Choice, N>& all, std::string_view text) {
    for (const Choice one : all) {
        if (to_text(one) == text) return one;
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_text(PeerStatus status) {
    switch (status) {
        case PeerStatus::kPending: return "pending";
        case PeerStatus::kActive: return "active";
        case PeerStatus::kInactive: return "inactive";
        case PeerStatus::kRevoked: return "revoked";
    }
    return {};
}

std::optional<PeerStatus> find_peer_status(std::string_view text) {
    return find_by_text(std::array{PeerStatus::kPending, PeerStatus::kActive, PeerStatus::kInactive,
                                   PeerStatus::kRevoked},
                        text);
}

std::string_view to_text(CertificateState state) {
    switch (state) {
        case CertificateState::kIssued: return "issued";
        case CertificateState::kCurrent: return "current";
        case CertificateState::kRetired: return "retired";
        case CertificateState::kRevoked: return "revoked";
    }
    return {};
}

std::optional<CertificateState> find_certificate_state(std::string_view text) {
    return find_by_text(std::array{CertificateState::kIssued, CertificateState::kCurrent,
                                   CertificateState::kRetired, CertificateState::kRevoked},
                        text);
}

}  // namespace crab::trust
