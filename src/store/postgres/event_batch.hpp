#pragma once

#include "core/events/event_store.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crab::store::postgres {

/// The events of one append, in the transaction that holds the row of event_head.
class EventBatch {
public:
    /// `self`: of a fleet. Then a call that has ended has ended for all: a second end of it, by
    /// whoever took its process for dead, is dropped.
    EventBatch(const std::vector<core::NewEvent>& events, SystemTime at,
               std::optional<NodeProcess> self = {})
        : events_(events), at_(at), self_(self) {}

    /// Locks the head and writes what is accepted. Once it was lost, a second time finds what the
    /// first has committed.
    Result<std::vector<core::EventReceipt>> write(Connection& database);

private:
    using Name = std::pair<std::string, std::string>;  ///< publisher, and the key of a repeat
    struct Seen {
        std::string content;  ///< the digest's bytes
        std::string event_id;
    };
    using Doubt = std::tuple<std::string, std::string, std::string>;

    Result<bool> was_written(Connection& database);
    Result<void> read_repeats(Connection& database);
    Result<void> read_open(Connection& database);
    Result<void> read_stored(Connection& database);
    bool has_ended(const core::NewEvent& end) const;
    Result<core::EventReceipt> accept(Connection& database, const core::NewEvent& event);
    std::optional<core::EventReceipt> find_repeat(const core::NewEvent& event) const;
    Result<bool> settle(Connection& database, const core::NewEvent& event);
    void account(const core::NewEvent& event, core::EventPosition position);
    Result<void> store(Connection& database);
    Result<void> store_events(Connection& database);
    Result<void> store_repeats(Connection& database);
    Result<void> store_account(Connection& database);

    const std::vector<core::NewEvent>& events_;
    const SystemTime at_;
    const std::optional<NodeProcess> self_;
    core::EventPosition last_ = 0;  ///< of those that are accepted
    std::map<Name, Seen> seen_;
    std::set<std::string> stored_;  ///< ids of those that were sent before and are there
    std::set<std::string> open_;  ///< of the requests that these events end; of a fleet
    std::vector<std::pair<const core::NewEvent*, core::EventPosition>> accepted_;
    std::map<std::string, core::EventPosition> opened_;
    std::set<std::string> closed_;
    std::map<Doubt, core::EventPosition> doubts_;
    std::vector<core::EventReceipt> receipts_;
};

}  // namespace crab::store::postgres
