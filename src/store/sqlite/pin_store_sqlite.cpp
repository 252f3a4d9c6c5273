#include "store/sqlite/pin_store_sqlite.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kPinSchema{R"(
    CREATE TABLE pins (
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        digest TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (source, kind, key)
    ) STRICT;
)"};

}  // namespace

Result<std::unique_ptr<PinStoreSqlite>> PinStoreSqlite::open(const std::filesystem::path& path,
                                                             DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("pins", kPinSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<PinStoreSqlite>(new PinStoreSqlite(std::move(*database)));
}

Result<std::vector<trust::Pin>> PinStoreSqlite::load(std::string_view source) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT source, kind, key, digest, text FROM pins WHERE source = ? ORDER BY kind, key",
        source);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<trust::Pin> pins;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return pins;
        pins.push_back({.source = rows->text(0),
                        .kind = rows->text(1),
                        .key = rows->text(2),
                        .digest = rows->text(3),
                        .text = rows->text(4)});
    }
}

Result<void> PinStoreSqlite::put(std::span<const trust::Pin> pins) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const trust::Pin& pin : pins) {
            auto done = database_.run(
                "INSERT OR REPLACE INTO pins (source, kind, key, digest, text) "
                "VALUES (?, ?, ?, ?, ?)",
                pin.source, pin.kind, pin.key, pin.digest, pin.text);
            if (!done) return done;
        }
        return {};
    });
}

Result<void> PinStoreSqlite::forget(std::string_view source) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM pins WHERE source = ?", source);
}

}  // namespace crab::store::sqlite
