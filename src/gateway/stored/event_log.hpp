#pragma once

#include "adapters/rtp/events/call_event_log.hpp"
#include "adapters/rtp/events/events_api.hpp"
#include "adapters/rtp/events/turn_event_log.hpp"
#include "adapters/rtp/pairing/pairing_update.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/stored/peer_records.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/workers.hpp"
#include "trust/access.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace crab::gateway {

/// The gateway's events: the outbox on its store, stored subscriptions, and the events of calls
/// and turns. Its start ends what an earlier run left open. In a fleet all nodes have one store;
/// each second it takes what others have appended, and now and then ends what died with them.
class EventLog final : public Component {
public:
    EventLog(const GatewayContext& context, Workers& workers, ChatSessions& chats,
             CallLedger& ledger, PeerRecords& peers)
        : context_(context), workers_(workers), chats_(chats), ledger_(ledger), peers_(peers) {}

    std::string_view name() const override { return "events"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the store.
    Result<void> start() override;
    Health health() const override;
    void add_metrics(core::MetricsPage& page) override;
    /// Flushes the outbox; all publishers must have stopped, except objects of event loops.
    void stop(Deadline deadline) override;

    core::CallEvents& calls() { return *calls_; }
    core::TurnLog& turns() { return *turns_; }
    /// Publishes the events of pairings. For one event loop.
    rtp::PairingObserver pairing_witness();
    core::EventOutbox& outbox() { return *outbox_; }
    /// For every listener's EventsApi.
    rtp::EventServices services(trust::Access& access);
    /// Called every second.
    void forget_old();
    /// Whether other nodes append too.
    bool is_shared() const;
    /// Called every second in a fleet.
    void look_for_others();
    /// Another node has appended something. Thread-safe.
    void ring();

private:
    Result<void> take_of_others();
    Task<void> take_now();
    void end_abandoned();
    Result<void> end_turns_of_earlier_run(const std::string& gateway_id,
                                          const rtp::TurnEventOptions& options);
    void append_metrics(std::string& out) const;

    const GatewayContext& context_;
    Workers& workers_;
    ChatSessions& chats_;
    CallLedger& ledger_;
    PeerRecords& peers_;
    std::unique_ptr<core::EventStore> store_;
    std::unique_ptr<BlockingPool> writer_;
    std::unique_ptr<rtp::EventStreams> streams_;
    std::unique_ptr<core::EventSubscriptions> subscriptions_;
    std::unique_ptr<core::EventOutbox> outbox_;
    std::unique_ptr<rtp::CallEventLog> calls_;
    std::unique_ptr<rtp::TurnEventLog> turns_;
    std::atomic<bool> rung_{false}, looking_{false}, forgetting_{false};
    std::uint64_t looks_ = 0;
    /// Last: their work refers to the other members
    std::unique_ptr<BlockingPool> housekeeping_, others_;
};

}  // namespace crab::gateway
