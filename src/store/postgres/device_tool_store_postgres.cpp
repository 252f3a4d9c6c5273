#include "store/postgres/device_tool_store_postgres.hpp"

namespace crab::store::postgres {

Result<std::vector<trust::DeviceToolRecord>> DeviceToolStorePostgres::load() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT device, tool, waiting FROM device_tool ORDER BY device COLLATE \"C\", tool COLLATE "
        "\"C\"");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<trust::DeviceToolRecord> records;
    for (const auto row : *rows)
        records.push_back({.device = row.text(0), .tool = row.text(1), .waiting = row.boolean(2)});
    return records;
}

// The last of those with one name counts.
Result<void> DeviceToolStorePostgres::put(std::span<const trust::DeviceToolRecord> records) {
    Array devices, tools, waiting;
    for (const trust::DeviceToolRecord& record : records) {
        devices.add(record.device);
        tools.add(record.tool);
        waiting.add_flag(record.waiting);
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT INTO device_tool (device, tool, waiting) SELECT DISTINCT ON (device, tool) device, "
        "tool, waiting FROM unnest($1::text[], $2::text[], $3::bool[]) WITH ORDINALITY u(device, "
        "tool, waiting, n) ORDER BY device, tool, n DESC ON CONFLICT (device, tool) DO UPDATE SET "
        "waiting = excluded.waiting",
        devices, tools, waiting);
}

}  // namespace crab::store::postgres
