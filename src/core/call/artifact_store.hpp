#pragma once

#include "base/result.hpp"
#include "core/call/artifact.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// An artifact that is being written. Unfinished data is removed on destruction. Used by one thread
/// at a time.
class ArtifactUpload {
public:
    virtual ~ArtifactUpload() = default;
    /// Errors: kOversize, kRateLimited (a quota is used up), kUnavailable (disk).
    virtual Result<void> append(std::string_view piece) = 0;
    /// Makes it durable and visible; after an error nothing is kept. Errors: kInvalidArgs (hash or
    /// length do not match), kUnavailable.
    virtual Result<Artifact> finish() = 0;
};

/// The bytes of an artifact; readable to the end even if it is removed meanwhile. Used by one
/// thread at a time.
class ArtifactBytes {
public:
    virtual ~ArtifactBytes() = default;
    virtual const Artifact& artifact() const = 0;
    /// Up to `most` bytes from `offset`; fewer only at the end. Errors: kUnavailable.
    virtual Result<std::string> read(std::uint64_t offset, std::size_t most) = 0;
};

/// Store of artifacts. Every function may block; thread-safe. Errors of all: kUnavailable (disk),
/// kInternal (damaged index).
class ArtifactStore {
public:
    struct Limits {
        std::uint64_t artifact_bytes = std::uint64_t{64} << 20;  ///< of one
        /// Per tenant, unfinished ones included
        std::uint64_t tenant_bytes = std::uint64_t{1} << 30;
        std::uint64_t total_bytes = std::uint64_t{4} << 30;
        std::chrono::seconds ttl{std::chrono::hours(24)};
    };
    struct Stats {
        std::size_t artifacts = 0;
        std::uint64_t bytes = 0;
    };

    virtual ~ArtifactStore() = default;

    /// `artifact` says tenant, owner, call, tool, content type and the hash that its bytes must
    /// have; `bytes`, when not 0, is the length that they must have. Errors: kOversize,
    /// kRateLimited (a quota is used up).
    virtual Result<std::unique_ptr<ArtifactUpload>> begin(Artifact artifact) = 0;
    /// Errors: kNotFound, also for expired ones.
    virtual Result<std::unique_ptr<ArtifactBytes>> open(std::string_view id) = 0;
    /// Oldest first; of one tenant, or of all when `tenant` is empty.
    virtual Result<std::vector<Artifact>> list(std::string_view tenant) = 0;
    /// False when there is none.
    virtual Result<bool> remove(std::string_view id) = 0;
    /// Removes what has expired; returns how many.
    virtual Result<std::size_t> forget_expired() = 0;
    virtual Stats stats() const = 0;
    /// For begin() from here on.
    virtual void set_limits(Limits limits) = 0;
};

}  // namespace crab::core
