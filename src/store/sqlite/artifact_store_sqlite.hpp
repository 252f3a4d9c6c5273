#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "core/call/artifact_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace crab::store::sqlite {

/// Artifacts as files beside an index: `<folder>/index.db` and `<folder>/<id>`. A file gets its
/// name once all its bytes are on disk, and its row after that; open() removes leftovers of a
/// crash. Thread-safe.
class ArtifactStoreSqlite final : public core::ArtifactStore {
public:
    /// Makes the folder (0700) if missing. `clock` must outlive it.
    static Result<std::unique_ptr<ArtifactStoreSqlite>> open(const std::filesystem::path& folder,
                                                             Limits limits, const Clock& clock,
                                                             DatabaseOptions options = {});
    /// After all uploads and readers.
    ~ArtifactStoreSqlite() override = default;

    Result<std::unique_ptr<core::ArtifactUpload>> begin(core::Artifact artifact) override;
    Result<std::unique_ptr<core::ArtifactBytes>> open(std::string_view id) override;
    Result<std::vector<core::Artifact>> list(std::string_view tenant) override;
    Result<bool> remove(std::string_view id) override;
    Result<std::size_t> forget_expired() override;
    Stats stats() const override;
    void set_limits(Limits limits) override;

private:
    class Upload;
    class Bytes;

    ArtifactStoreSqlite(Database database, std::filesystem::path folder, Limits limits,
                        const Clock& clock)
        : database_(std::move(database)),
          folder_(std::move(folder)),
          clock_(clock),
          limits_(limits) {}
    Result<void> settle();
    Result<std::vector<core::Artifact>> select(std::string_view condition, std::string_view value);
    Result<void> claim(const std::string& tenant, std::uint64_t bytes, std::uint64_t more);
    void release(const std::string& tenant, std::uint64_t bytes);
    Result<void> keep(const core::Artifact& artifact);
    Result<void> erase(const core::Artifact& artifact);
    std::filesystem::path incoming() const { return folder_ / "incoming"; }

    mutable OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
    const std::filesystem::path folder_;
    const Clock& clock_;
    Limits limits_;
    /// By tenant, as they are charged, those being written included
    std::map<std::string, std::uint64_t> used_;
    std::uint64_t used_in_all_ = 0;
    Stats stats_;
};

}  // namespace crab::store::sqlite
