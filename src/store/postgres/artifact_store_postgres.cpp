#include "store/postgres/artifact_store_postgres.hpp"

#include "base/log.hpp"
#include "crypto/random.hpp"
#include "store/artifact_rules.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
/// Of the advisory lock under which quotas are summed.
constexpr std::int64_t kQuotaLock = 0x6372616261727431;

constexpr std::string_view kColumns =
    "id, tenant, owner, call_id, tool, content_type, sha256, bytes, created_ms, expires_ms, "
    "caller";

}  // namespace

/// Sends chunks as they become full; the row says that it is not complete until finish().
class ArtifactStorePostgres::Upload final : public core::ArtifactUpload {
public:
    Upload(ArtifactStorePostgres& store, core::Artifact artifact, std::uint64_t claimed)
        : store_(store), artifact_(std::move(artifact)), received_(artifact_), claimed_(claimed) {
        artifact_.bytes = 0;
    }
    ~Upload() override {
        if (!finished_) store_.drop(artifact_.id);
    }

    Result<void> append(std::string_view piece) override {
        const auto after = received_.count_with(piece);
        if (!after) return fail(after.error());
        if (*after > claimed_) {
            const std::uint64_t all = claimed_ + std::max(*after - claimed_, kArtifactClaimStep);
            if (auto claimed = store_.claim(artifact_, *after, all); !claimed) return claimed;
            claimed_ = all;
        }
        received_.add(piece);
        while (!piece.empty()) {
            const std::string_view part = piece.substr(0, kChunkBytes - chunk_.size());
            chunk_ += part;
            piece.remove_prefix(part.size());
            if (chunk_.size() < kChunkBytes) break;
            if (auto sent = send_chunk(); !sent) return sent;
        }
        return {};
    }

    Result<core::Artifact> finish() override {
        if (auto good = received_.check_all(); !good) return fail(std::move(good.error()));
        artifact_.bytes = received_.count();
        if (!chunk_.empty()) {
            if (auto sent = send_chunk(); !sent) return fail(std::move(sent.error()));
        }
        if (auto kept = store_.keep(artifact_); !kept) return fail(std::move(kept.error()));
        finished_ = true;
        return artifact_;
    }

private:
    Result<void> send_chunk() {
        auto sent = store_.put_chunk(artifact_.id, chunks_++, chunk_);
        chunk_.clear();
        return sent;
    }

    ArtifactStorePostgres& store_;
    core::Artifact artifact_;
    AnnouncedBytes received_;
    std::uint64_t claimed_;
    std::int64_t chunks_ = 0;
    std::string chunk_;
    bool finished_ = false;
};

class ArtifactStorePostgres::Bytes final : public core::ArtifactBytes {
public:
    Bytes(ArtifactStorePostgres& store, core::Artifact artifact)
        : store_(store), artifact_(std::move(artifact)) {}
    ~Bytes() override { store_.close_reader(artifact_.id); }

    const core::Artifact& artifact() const override { return artifact_; }

    Result<std::string> read(std::uint64_t offset, std::size_t most) override {
        if (offset >= artifact_.bytes) return std::string();
        const std::uint64_t end = offset + std::min<std::uint64_t>(most, artifact_.bytes - offset);
        auto bytes = store_.read_chunks(artifact_.id, offset, end);
        if (bytes && bytes->size() != end - offset)
            return fail(ErrorCode::kUnavailable, "the artifact was removed while it was read");
        return bytes;
    }

private:
    ArtifactStorePostgres& store_;
    const core::Artifact artifact_;
};

Result<std::unique_ptr<ArtifactStorePostgres>> ArtifactStorePostgres::open(
    const ConnectionOptions& options, std::int16_t node, Limits limits, const Clock& clock) {
    std::unique_ptr<ArtifactStorePostgres> store(
        new ArtifactStorePostgres(options, node, limits, clock));
    const std::scoped_lock lock(store->mutex_);
    auto left =
        store->erase("DELETE FROM artifact WHERE node = $1 AND NOT complete RETURNING id", node);
    if (!left) return fail(std::move(left.error()));
    if (auto counted = store->count(); !counted) return fail(std::move(counted.error()));
    return store;
}

void ArtifactStorePostgres::set_limits(Limits limits) {
    const std::scoped_lock lock(mutex_);
    limits_ = limits;
}

/// That `charge`, of it alone, fits beside what others have.
Result<void> ArtifactStorePostgres::check_quotas(const core::Artifact& artifact,
                                                 std::uint64_t charge) {
    if (auto locked = database_.run("SELECT pg_advisory_xact_lock($1)", kQuotaLock); !locked)
        return locked;
    auto rows = database_.query(
        "SELECT coalesce(sum(charge) FILTER (WHERE tenant = $1), 0), coalesce(sum(charge), 0) FROM "
        "artifact WHERE id <> $2",
        artifact.tenant, artifact.id);
    if (!rows) return fail(std::move(rows.error()));
    const auto used = [&](int column) {
        return static_cast<std::uint64_t>((*rows)[0].integer(column));
    };
    if (auto fits = check_artifact_quota("this tenant", used(0), charge, limits_.tenant_bytes);
        !fits)
        return fits;
    return check_artifact_quota("this fleet", used(1), charge, limits_.total_bytes);
}

/// For an artifact of at least `bytes`, which is charged as `charge` from here on.
Result<void> ArtifactStorePostgres::claim(const core::Artifact& artifact, std::uint64_t bytes,
                                          std::uint64_t charge) {
    const std::scoped_lock lock(mutex_);
    if (auto fits = check_artifact_size(bytes, limits_); !fits) return fits;
    return database_.transaction([&]() -> Result<void> {
        if (auto fits = check_quotas(artifact, charge); !fits) return fits;
        return database_.run(
            "INSERT INTO artifact (id, node, charge, tenant, owner, call_id, tool, content_type, "
            "sha256, bytes, created_ms, expires_ms, caller) VALUES ($1, $2, $3, $4, $5, $6, $7, "
            "$8, $9, 0, $10, $11, $12) ON CONFLICT (id) DO UPDATE SET charge = $3",
            artifact.id, node_, charge, artifact.tenant, artifact.owner, artifact.call_id,
            artifact.tool, artifact.content_type, artifact.sha256, artifact.created_at,
            artifact.expires_at, artifact.caller);
    });
}

Result<std::unique_ptr<core::ArtifactUpload>> ArtifactStorePostgres::begin(
    core::Artifact artifact) {
    artifact.id = crypto::random_hex(kArtifactIdBytes);
    artifact.created_at = clock_.system_now();
    {
        const std::scoped_lock lock(mutex_);
        artifact.expires_at = artifact.created_at + limits_.ttl;
    }
    const std::uint64_t charge = artifact_charge(artifact.bytes);
    if (auto claimed = claim(artifact, artifact.bytes, charge); !claimed)
        return fail(std::move(claimed.error()));
    return std::make_unique<Upload>(*this, std::move(artifact), charge);
}

Result<void> ArtifactStorePostgres::put_chunk(std::string_view id, std::int64_t n,
                                              std::string_view bytes) {
    const std::scoped_lock lock(mutex_);
    return database_.run("INSERT INTO artifact_chunk (id, n, bytes) VALUES ($1, $2, $3)", id, n,
                         bytes_of(bytes));
}

Result<void> ArtifactStorePostgres::keep(const core::Artifact& artifact) {
    const std::scoped_lock lock(mutex_);
    auto kept = database_.query(
        "UPDATE artifact SET complete = true, bytes = $2, charge = $3 WHERE id = $1 AND NOT "
        "complete",
        artifact.id, artifact.bytes, artifact_charge(artifact.bytes));
    if (!kept) return fail(std::move(kept.error()));
    if (kept->changed() == 0)
        return fail(ErrorCode::kUnavailable,
                    "the artifact was removed while it was written: send it again");
    ++artifacts_;
    bytes_ += artifact.bytes;
    return {};
}

/// An upload that ended unfinished. What cannot be removed now is when it has expired, or when this
/// node starts.
void ArtifactStorePostgres::drop(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    if (const auto gone = erase("DELETE FROM artifact WHERE id = $1 RETURNING id", id); !gone)
        log::warn("an unfinished artifact was not removed", {{"reason", gone.error().message}});
}

Result<std::vector<core::Artifact>> ArtifactStorePostgres::select(const std::string& condition,
                                                                  std::string_view value) {
    auto rows = database_.query(
        fmt::format("SELECT {} FROM artifact WHERE complete AND expires_ms > $1 AND {} ORDER BY "
                    "created_ms, id",
                    kColumns, condition),
        clock_.system_now(), value);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::Artifact> found;
    for (const auto row : *rows) {
        found.push_back({.id = row.text(0),
                         .tenant = row.text(1),
                         .caller = row.text(10),
                         .owner = row.text(2),
                         .call_id = row.text(3),
                         .tool = row.text(4),
                         .content_type = row.text(5),
                         .sha256 = row.text(6),
                         .bytes = static_cast<std::uint64_t>(row.integer(7)),
                         .created_at = row.time(8),
                         .expires_at = row.time(9)});
    }
    return found;
}

Result<std::unique_ptr<core::ArtifactBytes>> ArtifactStorePostgres::open(std::string_view id) {
    if (!core::is_artifact_id(id)) return no_artifact();
    const std::scoped_lock lock(mutex_);
    auto found = select("id = $2", id);
    if (!found) return fail(std::move(found.error()));
    if (found->empty()) return no_artifact();
    ++readers_[found->front().id].count;
    return std::make_unique<Bytes>(*this, std::move(found->front()));
}

Result<std::string> ArtifactStorePostgres::read_chunks(std::string_view id, std::uint64_t from,
                                                       std::uint64_t to) {
    const std::scoped_lock lock(reading_mutex_);
    auto rows = reading_.query(
        "SELECT substring(bytes FROM (greatest($2::bigint - n::bigint * $4, 0) + 1)::int FOR "
        "(least($3::bigint, (n + 1)::bigint * $4) - greatest($2, n::bigint * $4))::int) FROM "
        "artifact_chunk WHERE id = $1 AND n BETWEEN $2 / $4::bigint AND ($3 - 1) / $4 ORDER BY n",
        id, from, to, kChunkBytes);
    if (!rows) return fail(std::move(rows.error()));
    std::string bytes;
    for (const auto row : *rows) bytes += row.bytes(0);
    return bytes;
}

void ArtifactStorePostgres::close_reader(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    const auto readers = readers_.find(id);
    if (readers == readers_.end() || --readers->second.count != 0) return;
    const bool is_removed = readers->second.is_removed;
    readers_.erase(readers);
    if (!is_removed) return;
    if (auto gone = database_.run("DELETE FROM artifact_chunk WHERE id = $1", id); !gone)
        log::warn("the bytes of an artifact were not removed yet",
                  {{"reason", gone.error().message}});
}

Result<std::vector<core::Artifact>> ArtifactStorePostgres::list(std::string_view tenant) {
    const std::scoped_lock lock(mutex_);
    return select("($2 = '' OR tenant = $2)", tenant);
}

template <class... Values>
Result<std::size_t> ArtifactStorePostgres::erase(const std::string& statement,
                                                 const Values&... values) {
    auto gone = database_.transaction([&]() -> Result<std::vector<std::string>> {
        auto rows = database_.query(statement, values...);
        if (!rows) return fail(std::move(rows.error()));
        std::vector<std::string> ids;
        Array unread;
        for (const auto row : *rows) {
            ids.push_back(row.text(0));
            if (!readers_.contains(ids.back())) unread.add(ids.back());
        }
        if (auto done =
                database_.run("DELETE FROM artifact_chunk WHERE id = ANY ($1::text[])", unread);
            !done)
            return fail(std::move(done.error()));
        return ids;
    });
    if (!gone) return fail(std::move(gone.error()));
    for (const std::string& id : *gone) {
        if (const auto readers = readers_.find(id); readers != readers_.end())
            readers->second.is_removed = true;
    }
    return gone->size();
}

Result<bool> ArtifactStorePostgres::remove(std::string_view id) {
    if (!core::is_artifact_id(id)) return false;
    const std::scoped_lock lock(mutex_);
    auto gone = erase("DELETE FROM artifact WHERE id = $1 AND complete RETURNING id", id);
    if (!gone) return fail(std::move(gone.error()));
    if (*gone == 0) return false;
    if (auto counted = count(); !counted) return fail(std::move(counted.error()));
    return true;
}

/// Of artifacts whose last reader did not live to remove them.
Result<void> ArtifactStorePostgres::erase_lost_chunks() {
    Array read;
    for (const auto& [id, readers] : readers_) read.add(id);
    return database_.run(
        "DELETE FROM artifact_chunk AS c WHERE NOT EXISTS (SELECT FROM artifact AS a WHERE a.id = "
        "c.id) AND c.id <> ALL ($1::text[])",
        read);
}

Result<std::size_t> ArtifactStorePostgres::forget_expired() {
    const std::scoped_lock lock(mutex_);
    auto gone =
        erase("DELETE FROM artifact WHERE expires_ms <= $1 RETURNING id", clock_.system_now());
    if (!gone) return gone;
    if (auto lost = erase_lost_chunks(); !lost) return fail(std::move(lost.error()));
    if (auto counted = count(); !counted) return fail(std::move(counted.error()));
    return gone;
}

Result<void> ArtifactStorePostgres::count() {
    auto rows =
        database_.query("SELECT count(*), coalesce(sum(bytes), 0) FROM artifact WHERE complete");
    if (!rows) return fail(std::move(rows.error()));
    artifacts_ = static_cast<std::size_t>((*rows)[0].integer(0));
    bytes_ = static_cast<std::uint64_t>((*rows)[0].integer(1));
    return {};
}

}  // namespace crab::store::postgres
