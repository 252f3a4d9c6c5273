#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// Audit records that are stored in one durable commit.
struct AuditBatch {
    SystemTime first;          ///< time of the oldest record
    SystemTime last;           ///< time of the newest record
    std::uint32_t count = 0;   ///< how many records there are
    /// JSON objects, one per line, oldest first, each with `"call_id":"<id>"` if it is about a call
    std::string records;
};

/// One of those, as it is stored.
struct StoredAuditBatch {
    std::uint64_t sequence = 0;  ///< from 1
    SystemTime first, last;
    std::string_view records;  ///< while it is being looked at
};

/// Which stored batches are read, and in which order. Where the clock was set back, batches are in
/// the order of their sequences all the same, and times find those near it only roughly.
struct AuditRange {
    SystemTime from{};  ///< batches that end before it are left out
    SystemTime to = SystemTime::max();  ///< … and those after the first that ends after it
    bool newest_first = false;
    std::uint64_t begin = 0;  ///< the sequence to begin at; 0: at that end of the range
};

/// The result of verify_chain().
struct AuditCheck {
    bool intact = true;
    std::uint64_t batches = 0;  ///< batches whose hash is right, from the oldest kept one on
    std::uint64_t records = 0;  ///< records in them
    std::uint64_t first_sequence = 0;  ///< of the oldest kept batch; 0: none is kept
    std::uint64_t last_sequence = 0;  ///< of the last valid one
    /// Its hash, hexadecimal; a copy elsewhere proves a later truncation
    std::string head_hash;
    std::string problem;  ///< the first error, with its sequence; empty when intact
};

/// Append-only store of audit records, every batch chained to its predecessor by SHA-256. All
/// functions may block (call them on BlockingPool) and are thread-safe; reading and verifying delay
/// neither appends nor each other.
class AuditStore {
public:
    virtual ~AuditStore() = default;

    /// Returns when the batch is durable. Errors: kUnavailable (disk full, busy, I/O), kInternal;
    /// then nothing of the batch is stored.
    virtual Result<void> append(const AuditBatch& batch) = 0;
    /// The newest `limit` records, newest first.
    virtual Result<std::vector<std::string>> latest(std::size_t limit) = 0;
    /// The newest record about this call in batches that end at or after `not_before`. Ids are
    /// compared as JSON writes them.
    virtual Result<std::optional<std::string>> find_call(std::string_view call_id,
                                                         SystemTime not_before) = 0;
    /// Passes the batches of a range to `take`, until it returns false.
    virtual Result<void> read(const AuditRange& range,
                              const std::function<bool(const StoredAuditBatch&)>& take) = 0;
    /// Recomputes every hash from the oldest kept batch on. Additional errors: kCancelled once
    /// `stop` is requested.
    virtual Result<AuditCheck> verify_chain(const std::stop_token& stop) = 0;
    /// Removes the oldest batches, those that end before `before`, and returns how many; the rest
    /// stays verifiable.
    virtual Result<std::uint64_t> prune(SystemTime before) = 0;
};

}  // namespace crab::core
