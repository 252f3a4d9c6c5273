#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

enum class ContentKind : std::uint8_t { kText, kJson, kBytes };

/// Resources used by a run; 0 where the host cannot tell.
struct Usage {
    Milliseconds cpu{0};
    Milliseconds wall{0};
    std::uint64_t peak_memory_bytes = 0;
    std::uint64_t output_bytes = 0;
    std::optional<int> exit_status;      ///< of a command
};

/// Rarely used parts of a result.
struct ResultExtras {
    /// Policy labels that were not enforced
    std::vector<std::string> unenforced;
    /// Where it ran (ToolHost::place_of()); may be empty
    std::string place;
    std::string presentation;  ///< a JSON object that tells chats how to show it; may be empty
};

/// The result of a successful call.
struct ToolResult {
    ContentKind kind = ContentKind::kText;
    std::string content;  ///< UTF-8 text, compact JSON, or bytes, as `kind` says
    /// Of kBytes; of kJson only when the object is one of another protocol
    std::string content_type;
    std::vector<std::string> logs;
    Usage usage;
    std::shared_ptr<const ResultExtras> extras;  ///< usually null; not kept for replays
};

/// A result that is JSON alone.
inline ToolResult json_result(std::string content) {
    return {.kind = ContentKind::kJson,
            .content = std::move(content),
            .content_type = {},
            .logs = {},
            .usage = {},
            .extras = {}};
}

/// How a call ended: a result, or the error that took its place.
using Outcome = Result<ToolResult>;
/// Shared by all that wait for it. Null only where documented.
using OutcomeRef = std::shared_ptr<const Outcome>;

enum class Status : std::uint8_t { kOk, kError, kRetryableError, kTimeout, kCancelled, kUnknown };
std::string_view name_of(Status status);
/// kTimeout, kCancelled and kOutcomeUnknown have their own status; other errors are kRetryableError
/// if they may_retry().
Status status_of(const Outcome& outcome);

/// One part of a streamed result.
struct ToolFrame {
    std::uint64_t number = 1;  ///< 1, 2, 3, … without a gap
    std::string_view data;
    std::string_view content_type;
    bool final = false;
    std::string_view summary;  ///< a JSON object, on the final frame only
};

/// Progress of a running call; every field is optional; deadlines are not affected.
struct Progress {
    std::string message;
    std::optional<double> progress;
    std::optional<double> total;
};

}  // namespace crab::core
