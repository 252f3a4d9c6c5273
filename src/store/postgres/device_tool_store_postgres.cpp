#include "store/postgres/device_tool_store_postgres.hpp"

namespace crab::store::postgres {

Result<std::vector<trust::DeviceToolRecord>> DeviceToolStorePostgres::load() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT device, tool, waiting, approved, offered FROM device_tool ORDER BY device COLLATE "
        "\"C\", tool COLLATE "
        "\"C\"");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<trust::DeviceToolRecord> records;
    for (const auto row : *rows)
        records.push_back({.device = row.text(0),
                           .tool = row.text(1),
                           .waiting = row.boolean(2),
                           .approved = row.text(3),
                           .offered = row.text(4)});
    return records;
}

// The last of those with one name counts.
Result<void> DeviceToolStorePostgres::put(std::span<const trust::DeviceToolRecord> records) {
    Array devices, tools, waiting, approved, offered;
    for (const trust::DeviceToolRecord& record : records) {
        devices.add(record.device);
        tools.add(record.tool);
        waiting.add_flag(record.waiting);
        approved.add(record.approved);
        offered.add(record.offered);
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT INTO device_tool (device, tool, waiting, approved, offered) SELECT DISTINCT ON "
        "(device, tool) device, tool, waiting, approved, offered FROM unnest($1::text[], "
        "$2::text[], $3::bool[], $4::text[], $5::text[]) WITH ORDINALITY u(device, tool, waiting, "
        "approved, offered, n) ORDER BY device, tool, n DESC ON CONFLICT (device, tool) DO UPDATE "
        "SET waiting = excluded.waiting, approved = excluded.approved, offered = excluded.offered",
        devices, tools, waiting, approved, offered);
}

}  // namespace crab::store::postgres
