#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_store.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::store::postgres {

/// Events in the table `event`, one line for all nodes: an append locks the one row of
/// `event_head`. An append whose connection was lost is sent again, unless its events are there.
/// Two connections, so that reading old events does not delay commits. The schema is there.
/// Thread-safe. Source: docs/protocols/fleet.md, section 7.
class EventStorePostgres final : public core::EventStore {
public:
    /// `self`: of a fleet, of which other processes append too. open_calls() are then those that
    /// no process runs any more.
    explicit EventStorePostgres(const ConnectionOptions& options,
                                std::optional<NodeProcess> self = {})
        : self_(self), writer_(options), reader_(options) {}

    std::vector<Result<core::EventReceipt>> append(const std::vector<core::NewEvent>& events,
                                                   SystemTime at) override;
    Result<std::vector<core::StoredEvent>> read(core::EventPosition after, std::size_t most,
                                                std::size_t bytes) override;
    Result<core::EventBounds> bounds() override;
    Result<std::vector<core::StoredEvent>> open_calls() override;
    Result<std::vector<std::string>> requests_since(SystemTime since) override;
    Result<std::vector<core::SubscriptionState>> subscriptions() override;
    Result<void> remember(const std::vector<core::SubscriptionState>& states) override;
    Result<core::EventBounds> forget(SystemTime before, std::uint64_t max_bytes) override;

private:
    Result<core::EventBounds> read_bounds(bool for_update);

    const std::optional<NodeProcess> self_;
    OrderedMutex<LockRank::kStore> writing_, reading_;
    Connection writer_, reader_;
};

}  // namespace crab::store::postgres
