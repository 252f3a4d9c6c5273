#pragma once

#include "base/result.hpp"
#include "core/call/artifact_store.hpp"

#include <memory>

namespace crab {
class Clock;
}
namespace crab::console {
class PasskeyStore;
class SessionStore;
}  // namespace crab::console
namespace crab::core {
class ApprovalStore;
class CallTaskStore;
class ChatSessionStore;
class EventStore;
class EventTurnStore;
class LedgerStore;
}  // namespace crab::core
namespace crab::cron {
class CronStore;
}
namespace crab::memory {
class MemoryStore;
}
namespace crab::push {
class SubscriptionStore;
}
namespace crab::trust {
class DeviceToolStore;
class LeaseStore;
class PeerStore;
class PinStore;
class TokenStore;
}  // namespace crab::trust

namespace crab::store {

/// Opens what a gateway keeps of who may do what. Functions of all these classes may block, and are
/// called once, by the component that owns the store; a store may outlive them. Errors of all:
/// kUnavailable (disk full, busy, I/O, no connection), kInternal, of a newer schema too.
class TrustStores {
public:
    virtual ~TrustStores() = default;

    /// First of these: it checks the file that all of them may share.
    virtual Result<std::unique_ptr<trust::TokenStore>> open_tokens() = 0;
    virtual Result<std::unique_ptr<trust::PeerStore>> open_peers() = 0;
    virtual Result<std::unique_ptr<trust::LeaseStore>> open_leases() = 0;
    virtual Result<std::unique_ptr<trust::DeviceToolStore>> open_device_tools() = 0;
    virtual Result<std::unique_ptr<trust::PinStore>> open_pins() = 0;
    virtual Result<std::unique_ptr<core::ApprovalStore>> open_approvals() = 0;
};

/// Opens what says what has run, has happened, is due, and was said.
class RecordStores {
public:
    virtual ~RecordStores() = default;

    virtual Result<std::unique_ptr<core::LedgerStore>> open_ledger() = 0;
    virtual Result<std::unique_ptr<core::CallTaskStore>> open_call_tasks() = 0;
    virtual Result<std::unique_ptr<core::EventTurnStore>> open_event_turns() = 0;
    virtual Result<std::unique_ptr<core::EventStore>> open_events() = 0;
    virtual Result<std::unique_ptr<cron::CronStore>> open_cron() = 0;
    virtual Result<std::unique_ptr<core::ChatSessionStore>> open_chats() = 0;
};

/// Opens all that a gateway keeps durably, in one engine. The audit log is not here: each process
/// keeps its own (runtime/audit_trail).
class Stores : public TrustStores, public RecordStores {
public:
    /// `clock` outlives the store.
    virtual Result<std::unique_ptr<core::ArtifactStore>> open_artifacts(
        const core::ArtifactStore::Limits& limits, const Clock& clock) = 0;
    virtual Result<std::unique_ptr<memory::MemoryStore>> open_memory() = 0;
    /// After the tokens
    virtual Result<std::unique_ptr<console::SessionStore>> open_console_sessions() = 0;
    /// After the tokens
    virtual Result<std::unique_ptr<console::PasskeyStore>> open_passkeys() = 0;
    /// After the tokens
    virtual Result<std::unique_ptr<push::SubscriptionStore>> open_push_subscriptions() = 0;
};

}  // namespace crab::store
