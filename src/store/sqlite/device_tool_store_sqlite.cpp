#include "store/sqlite/device_tool_store_sqlite.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 2> kDeviceToolSchema{R"(
    CREATE TABLE device_tools (
        device TEXT NOT NULL,
        tool TEXT NOT NULL,
        waiting INTEGER NOT NULL,
        PRIMARY KEY (device, tool)
    ) STRICT, WITHOUT ROWID;
)",
                                                            R"(
    ALTER TABLE device_tools ADD COLUMN approved TEXT NOT NULL DEFAULT '';
    ALTER TABLE device_tools ADD COLUMN offered TEXT NOT NULL DEFAULT '';
)"};

}  // namespace

Result<std::unique_ptr<DeviceToolStoreSqlite>> DeviceToolStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("device_tools", kDeviceToolSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<DeviceToolStoreSqlite>(new DeviceToolStoreSqlite(std::move(*database)));
}

Result<std::vector<trust::DeviceToolRecord>> DeviceToolStoreSqlite::load() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT device, tool, waiting, approved, offered FROM device_tools ORDER BY device, tool");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<trust::DeviceToolRecord> records;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return records;
        records.push_back({.device = rows->text(0),
                           .tool = rows->text(1),
                           .waiting = rows->integer(2) != 0,
                           .approved = rows->text(3),
                           .offered = rows->text(4)});
    }
}

Result<void> DeviceToolStoreSqlite::put(std::span<const trust::DeviceToolRecord> records) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const trust::DeviceToolRecord& record : records) {
            auto done = database_.run(
                "INSERT OR REPLACE INTO device_tools (device, tool, waiting, approved, offered) "
                "VALUES (?, ?, ?, ?, ?)",
                record.device, record.tool, std::int64_t{record.waiting}, record.approved,
                record.offered);
            if (!done) return done;
        }
        return {};
    });
}

}  // namespace crab::store::sqlite
