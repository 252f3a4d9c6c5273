#include "gateway/stored/fleet_stores.hpp"

#include "console/passkey_store.hpp"
#include "console/session_store.hpp"
#include "core/approvals/approval_store.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/events/event_store.hpp"
#include "core/events/event_turn_store.hpp"
#include "core/ledger/call_task_store.hpp"
#include "core/ledger/ledger_store.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/memory/memory_store.hpp"
#include "push/subscription_store.hpp"
#include "trust/device_tool_store.hpp"
#include "trust/lease_store.hpp"
#include "trust/pairing/peer_store.hpp"
#include "trust/pin_store.hpp"
#include "trust/token_store.hpp"

#include <utility>

namespace crab::gateway {

FleetStores::FleetStores(std::unique_ptr<store::Stores> of_fleet,
                         std::unique_ptr<store::Stores> own, OpenLedger open_ledger)
    : of_fleet_(std::move(of_fleet)), own_(std::move(own)), open_ledger_(std::move(open_ledger)) {}

FleetStores::~FleetStores() = default;

// That of the node checks the file that its other stores share, and has no tokens.
Result<std::unique_ptr<trust::TokenStore>> FleetStores::open_tokens() {
    if (auto own = own_->open_tokens(); !own) return own;
    return of_fleet_->open_tokens();
}

Result<std::unique_ptr<core::LedgerStore>> FleetStores::open_ledger() { return open_ledger_(); }

Result<std::unique_ptr<core::ArtifactStore>> FleetStores::open_artifacts(
    const core::ArtifactStore::Limits& limits, const Clock& clock) {
    return of_fleet_->open_artifacts(limits, clock);
}

Result<std::unique_ptr<memory::MemoryStore>> FleetStores::open_memory() {
    return of_fleet_->open_memory();
}

Result<std::unique_ptr<trust::PeerStore>> FleetStores::open_peers() {
    return of_fleet_->open_peers();
}

Result<std::unique_ptr<trust::LeaseStore>> FleetStores::open_leases() {
    return of_fleet_->open_leases();
}

Result<std::unique_ptr<trust::DeviceToolStore>> FleetStores::open_device_tools() {
    return of_fleet_->open_device_tools();
}

Result<std::unique_ptr<trust::PinStore>> FleetStores::open_pins() { return of_fleet_->open_pins(); }

Result<std::unique_ptr<core::ApprovalStore>> FleetStores::open_approvals() {
    return of_fleet_->open_approvals();
}

Result<std::unique_ptr<core::CallTaskStore>> FleetStores::open_call_tasks() {
    return own_->open_call_tasks();
}

Result<std::unique_ptr<core::EventTurnStore>> FleetStores::open_event_turns() {
    return of_fleet_->open_event_turns();
}

Result<std::unique_ptr<core::EventStore>> FleetStores::open_events() {
    return of_fleet_->open_events();
}

Result<std::unique_ptr<cron::CronStore>> FleetStores::open_cron() { return of_fleet_->open_cron(); }

Result<std::unique_ptr<core::ChatSessionStore>> FleetStores::open_chats() {
    return of_fleet_->open_chats();
}

Result<std::unique_ptr<console::SessionStore>> FleetStores::open_console_sessions() {
    return own_->open_console_sessions();
}

Result<std::unique_ptr<console::PasskeyStore>> FleetStores::open_passkeys() {
    return own_->open_passkeys();
}

Result<std::unique_ptr<push::SubscriptionStore>> FleetStores::open_push_subscriptions() {
    return own_->open_push_subscriptions();
}

}  // namespace crab::gateway
