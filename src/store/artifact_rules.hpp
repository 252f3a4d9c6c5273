#pragma once

#include "base/result.hpp"
#include "core/call/artifact_store.hpp"
#include "crypto/digest.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// What every engine of artifacts does alike.
namespace crab::store {

constexpr std::size_t kArtifactIdBytes = 16;
/// An upload of unknown length is charged so many bytes more at a time.
constexpr std::uint64_t kArtifactClaimStep = std::uint64_t{1} << 20;

/// What counts against quotas: many small artifacts do not fill the disk with what each costs.
std::uint64_t artifact_charge(std::uint64_t bytes);
/// Errors: kOversize.
Result<void> check_artifact_size(std::uint64_t bytes, const core::ArtifactStore::Limits& limits);
/// That `more` fits beside `used`. Errors: kRateLimited.
Result<void> check_artifact_quota(std::string_view whose, std::uint64_t used, std::uint64_t more,
                                  std::uint64_t most);
std::unexpected<Error> no_artifact();

/// The bytes of an upload, held against what was announced.
class AnnouncedBytes {
public:
    /// Its `bytes` are 0 when their number was not announced.
    explicit AnnouncedBytes(const core::Artifact& announced)
        : expected_(announced.bytes), sha256_(announced.sha256) {}

    std::uint64_t count() const { return count_; }
    /// How many there are with `piece`. Errors: kInvalidArgs: more than were announced.
    Result<std::uint64_t> count_with(std::string_view piece) const;
    void add(std::string_view piece);
    /// That all have come, and are those announced; once, at the end. Errors: kInvalidArgs.
    Result<void> check_all();

private:
    const std::uint64_t expected_;
    const std::string sha256_;
    std::uint64_t count_ = 0;
    crypto::Sha256 digest_;
};

}  // namespace crab::store
