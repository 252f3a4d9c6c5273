#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_turn_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// core::EventTurnStore in an SQLite file.
class EventTurnStoreSqlite final : public core::EventTurnStore {
public:
    /// Errors: those of Database::open().
    static Result<std::unique_ptr<EventTurnStoreSqlite>> open(const std::filesystem::path& path,
                                                              DatabaseOptions options = {});

    Result<std::optional<core::EventPosition>> position(std::string_view agent) override;
    Result<void> advance(std::string_view agent, core::EventPosition position) override;
    Result<bool> claim(const core::EventTurn& turn, core::EventPosition position) override;
    Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) override;
    Result<std::vector<core::EventTurn>> open_turns() override;
    Result<std::vector<core::EventTurn>> latest(std::size_t most) override;
    Result<void> forget(SystemTime ended_before) override;

private:
    explicit EventTurnStoreSqlite(Database database) : database_(std::move(database)) {}
    Result<void> set_position(std::string_view agent, core::EventPosition position);
    Result<std::vector<core::EventTurn>> read(Result<Statement> rows);

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
