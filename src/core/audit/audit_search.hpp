#pragma once

#include "core/audit/audit_filter.hpp"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// Where a search goes on: within a batch, at that byte of its records.
struct AuditCursor {
    std::uint64_t sequence = 0;
    std::size_t offset = 0;

    static std::optional<AuditCursor> parse(std::string_view text);
    std::string text() const;
};

/// One part of a search: where it begins, and what ends it, whichever is first.
struct AuditScan {
    bool newest_first = true;
    std::optional<AuditCursor> cursor{};  ///< of the part before it
    std::size_t most_found = 200;
    std::size_t most_found_bytes = std::size_t{4} << 20;
    std::size_t most_read_bytes = std::size_t{64} << 20;
    Milliseconds most_time{750};  ///< with what comes on top the answer is there within a second
    std::stop_token stop{};
};

/// What a part of a search has found.
struct AuditFound {
    std::vector<std::string> records;
    std::optional<AuditCursor> cursor;  ///< where the next part begins; nothing: that was all
    /// All that was recorded on the nearer side of it was looked at; nothing: there is no record
    std::optional<SystemTime> scanned_to;
};

/// Looks through the stored records; blocks. Errors: those of the store; kCancelled once `stop` is
/// requested.
Result<AuditFound> search_audit(AuditStore& store, const AuditFilter& filter, const AuditScan& scan,
                                const Clock& clock);

}  // namespace crab::core
