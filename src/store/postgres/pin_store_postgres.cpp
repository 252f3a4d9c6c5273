#include "store/postgres/pin_store_postgres.hpp"

namespace crab::store::postgres {

Result<std::vector<trust::Pin>> PinStorePostgres::load(std::string_view source) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT source, kind, key, digest, text FROM pin WHERE source = $1 ORDER BY kind COLLATE "
        "\"C\", key COLLATE \"C\"",
        source);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<trust::Pin> pins;
    for (const auto row : *rows)
        pins.push_back({.source = row.text(0),
                        .kind = row.text(1),
                        .key = row.text(2),
                        .digest = row.text(3),
                        .text = row.text(4)});
    return pins;
}

// The last of those with one name counts.
Result<void> PinStorePostgres::put(std::span<const trust::Pin> pins) {
    Array sources, kinds, keys, digests, texts;
    for (const trust::Pin& pin : pins) {
        sources.add(pin.source);
        kinds.add(pin.kind);
        keys.add(pin.key);
        digests.add(pin.digest);
        texts.add(pin.text);
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT INTO pin (source, kind, key, digest, text) SELECT DISTINCT ON (source, kind, key) "
        "source, kind, key, digest, text FROM unnest($1::text[], $2::text[], $3::text[], "
        "$4::text[], $5::text[]) WITH ORDINALITY u(source, kind, key, digest, text, n) ORDER BY "
        "source, kind, key, n DESC ON CONFLICT (source, kind, key) DO UPDATE SET digest = "
        "excluded.digest, text = excluded.text",
        sources, kinds, keys, digests, texts);
}

Result<void> PinStorePostgres::forget(std::string_view source) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM pin WHERE source = $1", source);
}

}  // namespace crab::store::postgres
