#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "core/call/artifact_store.hpp"
#include "store/postgres/connection.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store::postgres {

/// Artifacts as rows: one each, and their bytes in chunks. Quotas are the fleet's: who claims bytes
/// holds one lock of the database. What this process has open for reading keeps its chunks until it
/// is closed; a reader on another node loses them when the artifact is removed. Thread-safe.
class ArtifactStorePostgres final : public core::ArtifactStore {
public:
    /// Removes what an earlier process of `node` left unfinished. `clock` must outlive it.
    static Result<std::unique_ptr<ArtifactStorePostgres>> open(const ConnectionOptions& options,
                                                               std::int16_t node, Limits limits,
                                                               const Clock& clock);
    /// After all uploads and readers.
    ~ArtifactStorePostgres() override = default;

    Result<std::unique_ptr<core::ArtifactUpload>> begin(core::Artifact artifact) override;
    Result<std::unique_ptr<core::ArtifactBytes>> open(std::string_view id) override;
    Result<std::vector<core::Artifact>> list(std::string_view tenant) override;
    Result<bool> remove(std::string_view id) override;
    Result<std::size_t> forget_expired() override;
    /// Of the whole fleet, as they were when this process last changed or counted them.
    Stats stats() const override { return {.artifacts = artifacts_, .bytes = bytes_}; }
    void set_limits(Limits limits) override;

private:
    class Upload;
    class Bytes;

    ArtifactStorePostgres(const ConnectionOptions& options, std::int16_t node, Limits limits,
                          const Clock& clock)
        : node_(node), clock_(clock), limits_(limits), database_(options), reading_(options) {}

    // Of an upload.
    Result<void> claim(const core::Artifact& artifact, std::uint64_t bytes, std::uint64_t charge);
    Result<void> put_chunk(std::string_view id, std::int64_t n, std::string_view bytes);
    Result<void> keep(const core::Artifact& artifact);
    void drop(std::string_view id);
    // Of a reader.
    Result<std::string> read_chunks(std::string_view id, std::uint64_t from, std::uint64_t to);
    void close_reader(std::string_view id);

    // Callers hold mutex_.
    Result<void> check_quotas(const core::Artifact& artifact, std::uint64_t charge);
    Result<std::vector<core::Artifact>> select(const std::string& condition,
                                               std::string_view value);
    /// What the statement deletes, which returns ids; and their chunks, unless somebody reads them.
    template <class... Values>
    Result<std::size_t> erase(const std::string& statement, const Values&... values);
    Result<void> erase_lost_chunks();
    Result<void> count();

    const std::int16_t node_;
    const Clock& clock_;
    OrderedMutex<LockRank::kStore> mutex_;
    Limits limits_;
    Connection database_;
    OrderedMutex<LockRank::kStore> reading_mutex_;
    Connection reading_;
    struct Readers {
        std::size_t count = 0;
        bool is_removed = false;
    };
    std::map<std::string, Readers, std::less<>> readers_;  ///< by artifact; under mutex_
    /// A loop reads them, whatever the database does
    std::atomic<std::size_t> artifacts_{0};
    std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace crab::store::postgres
