#include "store/artifact_rules.hpp"

#include "base/encoding.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::store {

std::uint64_t artifact_charge(std::uint64_t bytes) {
    constexpr std::uint64_t kLeast = 4096;  // a block, or a row and its index
    return std::max(bytes, kLeast);
}

Result<void> check_artifact_size(std::uint64_t bytes, const core::ArtifactStore::Limits& limits) {
    if (bytes <= limits.artifact_bytes) return {};
    return fail(
        ErrorCode::kOversize,
        fmt::format("an artifact has at most {} bytes here; send less", limits.artifact_bytes));
}

Result<void> check_artifact_quota(std::string_view whose, std::uint64_t used, std::uint64_t more,
                                  std::uint64_t most) {
    if (used + more <= most) return {};
    return fail(
        Error{.code = ErrorCode::kRateLimited,
              .message = fmt::format(
                  "the artifacts of {} have {} of {} bytes; some must expire or be deleted first",
                  whose, used, most),
              .details = {},
              .retryable = false,
              .retry_after = {}});
}

std::unexpected<Error> no_artifact() {
    return fail(ErrorCode::kNotFound, "there is no such artifact, or it has expired");
}

Result<std::uint64_t> AnnouncedBytes::count_with(std::string_view piece) const {
    const std::uint64_t after = count_ + piece.size();
    if (expected_ != 0 && after > expected_)
        return fail(ErrorCode::kInvalidArgs, "more bytes came than were announced");
    return after;
}

void AnnouncedBytes::add(std::string_view piece) {
    digest_.update(piece);
    count_ += piece.size();
}

Result<void> AnnouncedBytes::check_all() {
    if (expected_ != 0 && count_ != expected_) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} bytes were announced and {} came", expected_, count_));
    }
    if (to_hex(digest_.finish()) != sha256_)
        return fail(ErrorCode::kInvalidArgs,
                    "the bytes have another SHA-256 than was announced; send them again");
    return {};
}

}  // namespace crab::store
