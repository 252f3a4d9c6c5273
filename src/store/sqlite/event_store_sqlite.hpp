#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace crab::store::sqlite {

/// Events in the table `event_outbox`, which is appended to and pruned from its start;
/// deduplication keys, calls with unknown outcome and subscriptions are in further tables. Two
/// connections, so that reading old events does not delay commits. Thread-safe.
class EventStoreSqlite final : public core::EventStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<EventStoreSqlite>> open(const std::filesystem::path& path,
                                                          DatabaseOptions options = {});

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
    struct Statements {
        Statement insert, find_seen, see, mark, doubt, settle;
    };
    /// Requests without an end, by their event id.
    using OpenCalls = std::map<std::string, core::EventPosition, std::less<>>;

    EventStoreSqlite(Database writer, Database reader, Statements statements)
        : writer_(std::move(writer)),
          reader_(std::move(reader)),
          statements_(std::move(statements)) {}
    Result<void> load();
    Result<core::EventReceipt> apply(const core::NewEvent& event, SystemTime at);
    Result<std::optional<core::EventReceipt>> find_repeat(const core::NewEvent& event);
    Result<void> remember_repeat(const core::NewEvent& event);
    Result<void> account(const core::NewEvent& event);
    Result<void> mark();
    Result<core::EventBounds> read_bounds();

    OrderedMutex<LockRank::kStore> writing_, reading_;
    Database writer_, reader_;
    Statements statements_;
    core::EventPosition next_ = 1;   ///< none is used twice
    OpenCalls open_calls_;
};

}  // namespace crab::store::sqlite
