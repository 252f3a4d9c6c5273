#include "store/sqlite/artifact_store_sqlite.hpp"

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "crypto/random.hpp"
#include "store/artifact_rules.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kArtifactSchema{R"(
    CREATE TABLE artifact (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        owner TEXT NOT NULL,
        call_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        content_type TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX artifact_tenant ON artifact (tenant, created_ms);
    CREATE INDEX artifact_expiry ON artifact (expires_ms);
)",
                                                          R"(
    ALTER TABLE artifact ADD COLUMN caller TEXT NOT NULL DEFAULT '';
)"};

std::unexpected<Error> disk_error(std::string_view what) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("an artifact could not be {}: {}", what, std::strerror(errno)));
}

/// Renames are durable once their folder is.
void sync_folder(const fs::path& folder) {
    const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.is_open()) ::fsync(descriptor.get());
}

}  // namespace

/// Writes to a file in `incoming`, which it removes unless finish() moved it away.
class ArtifactStoreSqlite::Upload final : public core::ArtifactUpload {
public:
    Upload(ArtifactStoreSqlite& store, core::Artifact artifact, Descriptor file,
           std::uint64_t claimed)
        : store_(store),
          artifact_(std::move(artifact)),
          received_(artifact_),
          path_(store.incoming() / artifact_.id),
          file_(std::move(file)),
          claimed_(claimed) {
        artifact_.bytes = 0;
    }
    ~Upload() override {
        if (finished_) return;
        ::unlink(path_.c_str());
        store_.release(artifact_.tenant, claimed_);
    }

    Result<void> append(std::string_view piece) override {
        const auto after = received_.count_with(piece);
        if (!after) return fail(after.error());
        if (*after > claimed_) {
            const std::uint64_t more = std::max(*after - claimed_, kArtifactClaimStep);
            if (auto claimed = store_.claim(artifact_.tenant, *after, more); !claimed)
                return claimed;
            claimed_ += more;
        }
        received_.add(piece);
        while (!piece.empty()) {
            const ssize_t count = ::write(file_.get(), piece.data(), piece.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return disk_error("written");
            piece.remove_prefix(static_cast<std::size_t>(count));
        }
        return {};
    }

    Result<core::Artifact> finish() override {
        if (auto good = received_.check_all(); !good) return fail(std::move(good.error()));
        artifact_.bytes = received_.count();
        if (::fsync(file_.get()) != 0) return disk_error("stored");
        const fs::path kept = store_.folder_ / artifact_.id;
        if (::rename(path_.c_str(), kept.c_str()) != 0) return disk_error("stored");
        sync_folder(store_.folder_);
        if (auto stored = store_.keep(artifact_); !stored) {
            ::unlink(kept.c_str());
            return fail(std::move(stored.error()));
        }
        finished_ = true;
        if (const std::uint64_t charge = artifact_charge(artifact_.bytes); claimed_ > charge)
            store_.release(artifact_.tenant, claimed_ - charge);
        return artifact_;
    }

private:
    ArtifactStoreSqlite& store_;
    core::Artifact artifact_;
    AnnouncedBytes received_;
    const fs::path path_;
    Descriptor file_;
    std::uint64_t claimed_;
    bool finished_ = false;
};

/// An open file, which lives on when its name goes.
class ArtifactStoreSqlite::Bytes final : public core::ArtifactBytes {
public:
    Bytes(core::Artifact artifact, Descriptor file)
        : artifact_(std::move(artifact)), file_(std::move(file)) {}
    const core::Artifact& artifact() const override { return artifact_; }

    Result<std::string> read(std::uint64_t offset, std::size_t most) override {
        std::string bytes(
            offset < artifact_.bytes ? std::min<std::uint64_t>(most, artifact_.bytes - offset) : 0,
            '\0');
        std::size_t have = 0;
        while (have < bytes.size()) {
            const ssize_t count = ::pread(file_.get(), bytes.data() + have, bytes.size() - have,
                                          static_cast<off_t>(offset + have));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return disk_error("read");
            if (count == 0)
                return fail(ErrorCode::kUnavailable,
                            "the file of an artifact is shorter than it was");
            have += static_cast<std::size_t>(count);
        }
        return bytes;
    }

private:
    const core::Artifact artifact_;
    const Descriptor file_;
};

Result<std::unique_ptr<ArtifactStoreSqlite>> ArtifactStoreSqlite::open(const fs::path& folder,
                                                                       Limits limits,
                                                                       const Clock& clock,
                                                                       DatabaseOptions options) {
    auto database = Database::open(folder / "index.db", options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("artifacts", kArtifactSchema); !migrated)
        return fail(std::move(migrated.error()));
    std::unique_ptr<ArtifactStoreSqlite> store(
        new ArtifactStoreSqlite(std::move(*database), folder, limits, clock));
    if (auto settled = store->settle(); !settled) return fail(std::move(settled.error()));
    return store;
}

/// Makes files and rows agree: a crash leaves unfinished uploads, and files whose row was not
/// written or is removed already.
Result<void> ArtifactStoreSqlite::settle() {
    std::error_code error;
    fs::remove_all(incoming(), error);
    fs::create_directory(incoming(), error);
    if (error)
        return fail(ErrorCode::kUnavailable,
                    "the folder of artifacts cannot be written: " + error.message());
    auto known = select("", "");
    if (!known) return fail(std::move(known.error()));
    std::map<std::string, bool, std::less<>> has_file;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
        if (const std::string name = entry.path().filename().string(); core::is_artifact_id(name))
            has_file[name] = false;
    }
    if (error)
        return fail(ErrorCode::kUnavailable,
                    "the folder of artifacts cannot be read: " + error.message());
    for (const core::Artifact& artifact : *known) {
        const auto file = has_file.find(artifact.id);
        if (file == has_file.end()) {
            log::warn("an artifact has lost its file", {{"artifact", artifact.id}});
            if (auto gone = database_.run("DELETE FROM artifact WHERE id = ?", artifact.id); !gone)
                return gone;
            continue;
        }
        file->second = true;
        used_[artifact.tenant] += artifact_charge(artifact.bytes);
        used_in_all_ += artifact_charge(artifact.bytes);
        stats_.artifacts += 1;
        stats_.bytes += artifact.bytes;
    }
    for (const auto& [name, is_known] : has_file) {
        if (!is_known) fs::remove(folder_ / name, error);
    }
    return {};
}

void ArtifactStoreSqlite::set_limits(Limits limits) {
    const std::scoped_lock lock(mutex_);
    limits_ = limits;
}

/// `more` for an artifact of at least `bytes`.
Result<void> ArtifactStoreSqlite::claim(const std::string& tenant, std::uint64_t bytes,
                                        std::uint64_t more) {
    const std::scoped_lock lock(mutex_);
    if (auto fits = check_artifact_size(bytes, limits_); !fits) return fits;
    if (auto fits = check_artifact_quota("this tenant", used_[tenant], more, limits_.tenant_bytes);
        !fits)
        return fits;
    if (auto fits = check_artifact_quota("this gateway", used_in_all_, more, limits_.total_bytes);
        !fits)
        return fits;
    used_[tenant] += more;
    used_in_all_ += more;
    return {};
}

void ArtifactStoreSqlite::release(const std::string& tenant, std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto it = used_.find(tenant);
    if (it != used_.end() && (it->second -= std::min(it->second, bytes)) == 0) used_.erase(it);
    used_in_all_ -= std::min(used_in_all_, bytes);
}

Result<std::unique_ptr<core::ArtifactUpload>> ArtifactStoreSqlite::begin(core::Artifact artifact) {
    const std::uint64_t charge = artifact_charge(artifact.bytes);
    if (auto claimed = claim(artifact.tenant, artifact.bytes, charge); !claimed)
        return fail(std::move(claimed.error()));
    artifact.id = crypto::random_hex(kArtifactIdBytes);
    artifact.created_at = clock_.system_now();
    {
        const std::scoped_lock lock(mutex_);
        artifact.expires_at = artifact.created_at + limits_.ttl;
    }
    Descriptor file(::open((incoming() / artifact.id).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) {
        auto failure = disk_error("begun");
        release(artifact.tenant, charge);
        return failure;
    }
    return std::make_unique<Upload>(*this, std::move(artifact), std::move(file), charge);
}

Result<void> ArtifactStoreSqlite::keep(const core::Artifact& artifact) {
    const std::scoped_lock lock(mutex_);
    auto stored = database_.run(
        "INSERT INTO artifact (id, tenant, owner, call_id, tool, content_type, sha256, bytes, "
        "created_ms, expires_ms, caller)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        artifact.id, artifact.tenant, artifact.owner, artifact.call_id, artifact.tool,
        artifact.content_type, artifact.sha256, static_cast<std::int64_t>(artifact.bytes),
        artifact.created_at, artifact.expires_at, artifact.caller);
    if (!stored) return stored;
    stats_.artifacts += 1;
    stats_.bytes += artifact.bytes;
    return {};
}

/// With mutex_ held, or before anybody else knows *this. `condition` has one parameter, or is
/// empty.
Result<std::vector<core::Artifact>> ArtifactStoreSqlite::select(std::string_view condition,
                                                                std::string_view value) {
    const std::string sql = fmt::format(
        "SELECT id, tenant, owner, call_id, tool, content_type, sha256, bytes, created_ms, "
        "expires_ms, caller FROM artifact {} ORDER BY created_ms, id",
        condition);
    auto rows = condition.empty() ? database_.query(sql) : database_.query(sql, value);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::Artifact> found;
    for (;;) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) return found;
        found.push_back({.id = rows->text(0),
                         .tenant = rows->text(1),
                         .caller = rows->text(10),
                         .owner = rows->text(2),
                         .call_id = rows->text(3),
                         .tool = rows->text(4),
                         .content_type = rows->text(5),
                         .sha256 = rows->text(6),
                         .bytes = static_cast<std::uint64_t>(rows->integer(7)),
                         .created_at = rows->time(8),
                         .expires_at = rows->time(9)});
    }
}

Result<std::unique_ptr<core::ArtifactBytes>> ArtifactStoreSqlite::open(std::string_view id) {
    if (!core::is_artifact_id(id)) return no_artifact();
    const std::scoped_lock lock(mutex_);
    auto found = select("WHERE id = ?", id);
    if (!found) return fail(std::move(found.error()));
    if (found->empty() || found->front().expires_at <= clock_.system_now()) return no_artifact();
    Descriptor file(
        ::open((folder_ / found->front().id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open()) return disk_error("opened");
    return std::make_unique<Bytes>(std::move(found->front()), std::move(file));
}

Result<std::vector<core::Artifact>> ArtifactStoreSqlite::list(std::string_view tenant) {
    const std::scoped_lock lock(mutex_);
    auto found = tenant.empty() ? select("", "") : select("WHERE tenant = ?", tenant);
    if (found)
        std::erase_if(*found, [now = clock_.system_now()](const core::Artifact& artifact) {
            return artifact.expires_at <= now;
        });
    return found;
}

/// With mutex_ held: the row first, so that no row is without its file.
Result<void> ArtifactStoreSqlite::erase(const core::Artifact& artifact) {
    if (auto gone = database_.run("DELETE FROM artifact WHERE id = ?", artifact.id); !gone)
        return gone;
    ::unlink((folder_ / artifact.id).c_str());
    const std::uint64_t charge = artifact_charge(artifact.bytes);
    if (const auto it = used_.find(artifact.tenant);
        it != used_.end() && (it->second -= std::min(it->second, charge)) == 0)
        used_.erase(it);
    used_in_all_ -= std::min(used_in_all_, charge);
    stats_.artifacts -= 1;
    stats_.bytes -= artifact.bytes;
    return {};
}

Result<bool> ArtifactStoreSqlite::remove(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto found = select("WHERE id = ?", id);
    if (!found) return fail(std::move(found.error()));
    if (found->empty()) return false;
    if (auto erased = erase(found->front()); !erased) return fail(std::move(erased.error()));
    return true;
}

Result<std::size_t> ArtifactStoreSqlite::forget_expired() {
    const std::scoped_lock lock(mutex_);
    auto found = select("WHERE expires_ms <= CAST(? AS INTEGER)",
                        std::to_string(to_unix_ms(clock_.system_now())));
    if (!found) return fail(std::move(found.error()));
    for (const core::Artifact& artifact : *found) {
        if (auto erased = erase(artifact); !erased) return fail(std::move(erased.error()));
    }
    return found->size();
}

core::ArtifactStore::Stats ArtifactStoreSqlite::stats() const {
    const std::scoped_lock lock(mutex_);
    return stats_;
}

}  // namespace crab::store::sqlite
