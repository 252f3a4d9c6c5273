#include "trust/pairing/pairing_plan.hpp"

#include <fmt/format.h>

namespace crab::trust {
namespace {

using Kind = PairingRequest::Kind;

std::unexpected<PairingError> unreadable(const Error& error) {
    return refuse(PairingCode::kPersistFailed,
                  fmt::format("the peers cannot be read: {}", error.message));
}

bool is_active(const std::optional<PeerRecord>& record) {
    return record && record->status == PeerStatus::kActive;
}

bool is_loopback_ws(std::string_view endpoint) {
    const auto parsed = PairingEndpoint::parse(endpoint);
    return parsed && !parsed->tls && parsed->loopback;
}

/// Tests and development pair again and again on ports that change; nothing is proven over loopback
/// `ws` but the keys.
bool both_on_loopback(const PeerRecord& record, const PairingEndpoint& endpoint) {
    return !endpoint.tls && endpoint.loopback && is_loopback_ws(record.endpoint);
}

PairingResult<void> check_existing(PairingStore& store, const PairingPlan& plan) {
    const auto& previous = plan.previous;
    const std::string endpoint = plan.endpoint.text();
    if (previous && previous->status == PeerStatus::kRevoked) {
        return refuse(
            PairingCode::kPeerExists,
            fmt::format("{} was revoked; pair it again with --replace", previous->name.text()));
    }
    if (is_active(previous) && previous->endpoint != endpoint &&
        !both_on_loopback(*previous, plan.endpoint)) {
        return refuse(PairingCode::kPeerExists,
                      fmt::format("{} is active at {}; move it with --replace",
                                  previous->name.text(), previous->endpoint));
    }
    const auto there = store.find_active_at(endpoint);
    if (!there) return unreadable(there.error());
    if (is_active(*there) && (*there)->name != plan.request.name &&
        !both_on_loopback(**there, plan.endpoint)) {
        return refuse(PairingCode::kPeerExists,
                      fmt::format("{} is active at this endpoint; take its place with --replace",
                                  (*there)->name.text()));
    }
    return {};
}

}  // namespace

PairingResult<PairingPlan> plan_pairing(PairingStore& store, PairingRequest request,
                                        const PairingRules& rules) {
    PairingPlan plan{.request = std::move(request),
                     .endpoint = {},
                     .previous = {},
                     .has_operator_ca = rules.has_operator_ca};
    if (!is_component_id(plan.request.name.id)) {
        return refuse(PairingCode::kInvalidArgs,
                      "component_id: 1-64 characters of letters, digits, `.`, `_` and `-`, the "
                      "first a letter or digit");
    }
    auto previous = store.find_peer(plan.request.name);
    if (!previous) return unreadable(previous.error());
    plan.previous = std::move(*previous);
    if (plan.request.kind == Kind::kRenew) {
        if (!is_active(plan.previous))
            return refuse(PairingCode::kInvalidArgs,
                          fmt::format("{} is not active; only active peers are renewed",
                                      plan.request.name.text()));
        plan.request.endpoint = plan.previous->endpoint;
    }
    auto endpoint = PairingEndpoint::parse(plan.request.endpoint);
    if (!endpoint) return std::unexpected(endpoint.error());
    plan.endpoint = std::move(*endpoint);
    if (auto allowed = check_transport(plan.endpoint, rules.allow_insecure_loopback); !allowed)
        return std::unexpected(allowed.error());
    if (plan.request.kind == Kind::kPair) {
        if (auto free = check_existing(store, plan); !free) return std::unexpected(free.error());
    }
    plan.is_known = plan.request.kind != Kind::kReplace && is_active(plan.previous) &&
                    plan.previous->endpoint == plan.endpoint.text();
    return plan;
}

}  // namespace crab::trust
