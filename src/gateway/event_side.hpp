#pragma once

#include "adapters/rtp/events/call_event_log.hpp"
#include "adapters/rtp/events/events_api.hpp"
#include "adapters/rtp/events/turn_event_log.hpp"
#include "adapters/rtp/pairing/pairing_news.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/metrics.hpp"
#include "gateway/earlier_turns.hpp"
#include "store/sqlite/event_store_sqlite.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace crab::gateway {

/// The gateway's events, wired: the outbox on `events.db`, what is remembered of subscriptions,
/// what calls and turns tell. What an earlier life left open is ended when it is opened.
class EventSide {
public:
    struct Services {
        BlockingPool& pool;
        const Clock& clock;
    };
    /// What is known, elsewhere, of calls and turns that an earlier life of the gateway left open.
    struct EarlierLife {
        const std::vector<core::UnfinishedCall>& calls;
        const EarlierTurns& turns;
    };
    /// Errors: those of the store.
    static Result<std::unique_ptr<EventSide>> open(const std::filesystem::path& file,
                                                   const config::EventOptions& options,
                                                   std::string gateway_id,
                                                   const EarlierLife& earlier, Services services);
    EventSide(const EventSide&) = delete;
    EventSide& operator=(const EventSide&) = delete;
    /// Writes what waits. After all that refers to it has ended, but for event loops.
    ~EventSide();

    core::CallEvents& calls() { return *calls_; }
    core::TurnLog& turns() { return *turns_; }
    /// Publishes what happens to pairings. For one event loop.
    rtp::PairingWitness pairing_witness(std::string gateway_id);
    core::EventOutbox& outbox() { return *outbox_; }
    /// For every listener's EventsApi.
    rtp::EventServices services(trust::Access& access) {
        return {clock_, *outbox_, *subscriptions_, access, streams_};
    }
    /// Called every second.
    void forget_old();
    void append_metrics(std::string& out) const;

private:
    EventSide(std::unique_ptr<store::sqlite::EventStoreSqlite> store, const Clock& clock)
        : store_(std::move(store)), clock_(clock) {}

    std::unique_ptr<store::sqlite::EventStoreSqlite> store_;
    const Clock& clock_;
    BlockingPool writer_{1};
    rtp::EventStreams streams_;
    std::unique_ptr<core::EventSubscriptions> subscriptions_;
    std::unique_ptr<core::EventOutbox> outbox_;
    std::unique_ptr<rtp::CallEventLog> calls_;
    std::unique_ptr<rtp::TurnEventLog> turns_;
    BlockingPool housekeeping_{1};  ///< last: what it was given refers to the rest
};

}  // namespace crab::gateway
