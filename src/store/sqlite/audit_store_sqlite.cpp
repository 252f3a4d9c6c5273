#include "store/sqlite/audit_store_sqlite.hpp"

#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kAuditSchema{R"(
    CREATE TABLE audit (
        sequence INTEGER PRIMARY KEY,
        first_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL,
        count INTEGER NOT NULL,
        previous BLOB NOT NULL,
        hash BLOB NOT NULL,
        records TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_last ON audit (last_ms);
    CREATE TABLE audit_anchor (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        sequence INTEGER NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO audit_anchor VALUES (1, 0, zeroblob(32));
)"};

constexpr std::string_view kAnchor = "SELECT sequence, hash FROM audit_anchor";
constexpr std::string_view kHead =
    "SELECT sequence, hash FROM (SELECT sequence, hash FROM audit UNION ALL SELECT sequence, hash "
    "FROM audit_anchor) ORDER BY sequence DESC LIMIT 1";

/// A batch is up to a megabyte in one row: larger pages are fewer writes and less to link.
constexpr std::int64_t kPageBytes = 16 * 1024;

/// A transaction of prune() removes at most this many rows, so that appends get their turn in
/// between.
constexpr std::int64_t kPruneRows = 1'000;

crypto::Sha256Digest hash_of(const crypto::Sha256Digest& previous, std::int64_t sequence,
                             std::int64_t first_ms, std::int64_t last_ms, std::int64_t count,
                             std::string_view records) {
    crypto::Sha256 hash;
    hash.update(previous);
    for (const std::int64_t number : {sequence, first_ms, last_ms, count})
        hash.update_number(static_cast<std::uint64_t>(number));
    return hash.update(records).finish();
}

bool is_equal(std::span<const std::uint8_t> stored, const crypto::Sha256Digest& digest) {
    return std::ranges::equal(stored, digest);
}

/// The line of `text` that the byte at `at` belongs to.
std::string_view line_around(std::string_view text, std::size_t at) {
    const std::size_t before = text.rfind('\n', at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

/// The last line that holds `needle`, or nothing.
std::string_view last_line_with(std::string_view text, std::string_view needle) {
    std::string_view line;
    for (std::size_t from = 0; from < text.size();) {
        // memmem instead of find(): every JSON text is full of the quote that a needle begins with.
        const void* const hit =
            ::memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
        if (hit == nullptr) break;
        const auto at = static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
        line = line_around(text, at);
        from = at + needle.size();
    }
    return line;
}

struct Span {
    std::int64_t oldest = 0, newest = INT64_MAX;
};

/// The first sequence of the times in the index, which is in their order.
Result<std::optional<std::int64_t>> first_of(Database& database, std::string_view sql,
                                             SystemTime time) {
    auto statement = database.query(sql, time);
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    return *row ? std::optional(statement->integer(0)) : std::nullopt;
}

/// Both ends of a range; `oldest` above `newest`: nothing is in it.
Result<Span> find_span(Database& database, const core::AuditRange& range) {
    const auto oldest =
        first_of(database,
                 "SELECT sequence FROM audit WHERE last_ms >= ? ORDER BY last_ms, sequence LIMIT 1",
                 range.from);
    if (!oldest) return fail(oldest.error());
    const auto newest = first_of(
        database, "SELECT sequence FROM audit WHERE last_ms > ? ORDER BY last_ms, sequence LIMIT 1",
        range.to);
    if (!newest) return fail(newest.error());
    Span span{.oldest = oldest->value_or(INT64_MAX), .newest = newest->value_or(INT64_MAX)};
    if (!*oldest) span.newest = 0;
    const auto begin = static_cast<std::int64_t>(std::min<std::uint64_t>(range.begin, INT64_MAX));
    if (begin == 0) return span;
    if (range.newest_first)
        span.newest = std::min(span.newest, begin);
    else
        span.oldest = std::max(span.oldest, begin);
    return span;
}

}  // namespace

Result<std::unique_ptr<AuditStoreSqlite>> AuditStoreSqlite::open(const std::filesystem::path& path,
                                                                 DatabaseOptions options) {
    options.page_bytes = kPageBytes;
    auto writer = Database::open(path, options);
    if (!writer) return fail(std::move(writer.error()));
    if (auto migrated = writer->migrate("audit", kAuditSchema); !migrated)
        return fail(std::move(migrated.error()));
    options.check = StartCheck::kNone;
    auto reader = Database::open(path, options);
    if (!reader) return fail(std::move(reader.error()));
    return std::unique_ptr<AuditStoreSqlite>(
        new AuditStoreSqlite(path, options, std::move(*writer), std::move(*reader)));
}

/// The one row of `sql`: a sequence and a hash.
Result<AuditStoreSqlite::Link> AuditStoreSqlite::read_link(Database& database,
                                                           std::string_view sql) {
    auto statement = database.query(sql);
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    Link link;
    if (!*row || statement->bytes(1).size() != link.hash.size()) {
        return fail(ErrorCode::kInternal,
                    "the audit chain has lost its anchor: restore it from a backup");
    }
    link.sequence = statement->integer(0);
    std::ranges::copy(statement->bytes(1), link.hash.begin());
    return link;
}

Result<void> AuditStoreSqlite::append(const core::AuditBatch& batch) {
    const std::scoped_lock lock(writing_);
    return writer_.transaction([&]() -> Result<void> {
        const auto head = read_link(writer_, kHead);
        if (!head) return fail(head.error());
        const std::int64_t sequence = head->sequence + 1;
        const auto hash = hash_of(head->hash, sequence, to_unix_ms(batch.first),
                                  to_unix_ms(batch.last), batch.count, batch.records);
        return writer_.run(
            "INSERT INTO audit (sequence, first_ms, last_ms, count, previous, hash, records) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            sequence, batch.first, batch.last, batch.count, head->hash, hash, batch.records);
    });
}

Result<std::vector<std::string>> AuditStoreSqlite::latest(std::size_t limit) {
    const std::scoped_lock lock(reading_);
    std::vector<std::string> records;
    auto statement = reader_.query("SELECT records FROM audit ORDER BY sequence DESC");
    if (!statement) return fail(std::move(statement.error()));
    while (records.size() < limit) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        std::string_view text = statement->text_view(0);
        while (!text.empty() && records.size() < limit) {
            if (text.ends_with('\n')) {
                text.remove_suffix(1);
                continue;
            }
            const std::string_view line = line_around(text, text.size() - 1);
            records.emplace_back(line);
            text.remove_suffix(line.size());
        }
    }
    return records;
}

Result<std::optional<std::string>> AuditStoreSqlite::find_call(std::string_view call_id,
                                                               SystemTime not_before) {
    std::string needle = R"("call_id":)";
    json::append_quoted(needle, call_id);
    const std::scoped_lock lock(reading_);
    auto statement = reader_.query(
        "SELECT records FROM audit WHERE last_ms >= ? ORDER BY sequence DESC", not_before);
    if (!statement) return fail(std::move(statement.error()));
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) return std::nullopt;
        if (const std::string_view line = last_line_with(statement->text_view(0), needle);
            !line.empty())
            return std::string(line);
    }
}

Result<void> AuditStoreSqlite::read(
    const core::AuditRange& range, const std::function<bool(const core::StoredAuditBatch&)>& take) {
    auto reader = Database::open(path_, options_);
    if (!reader) return fail(std::move(reader.error()));
    const auto span = find_span(*reader, range);
    if (!span) return fail(span.error());
    auto statement = reader->query(
        range.newest_first
            ? "SELECT sequence, first_ms, last_ms, records FROM audit WHERE sequence BETWEEN ? AND "
              "? ORDER BY sequence DESC"
            : "SELECT sequence, first_ms, last_ms, records FROM audit WHERE sequence BETWEEN ? AND "
              "? ORDER BY sequence",
        span->oldest, span->newest);
    if (!statement) return fail(std::move(statement.error()));
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) return {};
        const core::StoredAuditBatch batch{
            .sequence = static_cast<std::uint64_t>(statement->integer(0)),
            .first = statement->time(1),
            .last = statement->time(2),
            .records = statement->text_view(3)};
        if (!take(batch)) return {};
    }
}

Result<core::AuditCheck> AuditStoreSqlite::verify_chain(const std::stop_token& stop) {
    auto reader = Database::open(path_, options_);
    if (!reader) return fail(std::move(reader.error()));
    // One transaction is one snapshot: prune() cannot move the anchor while the rows are read.
    if (auto begun = reader->execute("BEGIN"); !begun) return fail(std::move(begun.error()));
    auto link = read_link(*reader, kAnchor);
    if (!link) return fail(std::move(link.error()));
    auto statement = reader->query(
        "SELECT sequence, first_ms, last_ms, count, previous, hash, records FROM audit ORDER BY "
        "sequence");
    if (!statement) return fail(std::move(statement.error()));
    core::AuditCheck check;
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        if (stop.stop_requested())
            return fail(ErrorCode::kCancelled, "the verification was cancelled");
        const std::int64_t sequence = statement->integer(0);
        const auto hash =
            hash_of(link->hash, sequence, statement->integer(1), statement->integer(2),
                    statement->integer(3), statement->text_view(6));
        const char* problem = nullptr;
        if (sequence != link->sequence + 1) {
            problem = "batches before it are missing";
        } else if (!is_equal(statement->bytes(4), link->hash)) {
            problem = "it does not follow the batch before it";
        } else if (!is_equal(statement->bytes(5), hash)) {
            problem = "its content was changed";
        }
        if (problem != nullptr) {
            check.intact = false;
            check.problem = fmt::format("batch {}: {}", sequence, problem);
            break;
        }
        if (check.batches == 0) check.first_sequence = static_cast<std::uint64_t>(sequence);
        ++check.batches;
        check.records += static_cast<std::uint64_t>(statement->integer(3));
        *link = Link{.sequence = sequence, .hash = hash};
    }
    check.last_sequence = static_cast<std::uint64_t>(link->sequence);
    check.head_hash = to_hex(link->hash);
    return check;
}

Result<std::uint64_t> AuditStoreSqlite::prune(SystemTime before) {
    std::uint64_t removed = 0;
    for (;;) {
        const std::scoped_lock lock(writing_);
        auto part = writer_.transaction([&]() -> Result<std::int64_t> {
            // Only from the oldest end, up to the first batch that stays: a gap would break the
            // chain.
            const auto anchor = read_link(writer_, kAnchor);
            if (!anchor) return fail(anchor.error());
            auto last = writer_.query(
                "SELECT sequence, hash FROM audit WHERE sequence <= ? AND sequence <"
                " coalesce((SELECT min(sequence) FROM audit WHERE last_ms >= ?), "
                "9223372036854775807) ORDER BY sequence DESC LIMIT 1",
                anchor->sequence + kPruneRows, before);
            if (!last) return fail(std::move(last.error()));
            const auto row = last->step();
            if (!row) return fail(row.error());
            if (!*row) return 0;
            const std::int64_t sequence = last->integer(0);
            if (auto moved = writer_.run("UPDATE audit_anchor SET sequence = ?, hash = ?", sequence,
                                         last->bytes(1));
                !moved)
                return fail(moved.error());
            last->reset();
            if (auto gone = writer_.run("DELETE FROM audit WHERE sequence <= ?", sequence); !gone)
                return fail(gone.error());
            return writer_.changes();
        });
        if (!part) return fail(std::move(part.error()));
        removed += static_cast<std::uint64_t>(*part);
        if (*part == 0) return removed;
    }
}

}  // namespace crab::store::sqlite
