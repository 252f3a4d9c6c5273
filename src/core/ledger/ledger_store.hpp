#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool_result.hpp"
#include "core/ledger/ledger_ref.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace crab::core {

/// Admits a call. If its key (tenant, principal, key) exists, nothing is written and the answer is
/// the existing entry; entries admitted before `forgotten_before` are ignored.
struct LedgerAdmission {
    std::string tenant, principal, key;
    ContentDigest content{};  ///< of the call
    SystemTime at, forgotten_before;
    /// Idempotent: an open entry with the same content is taken over
    bool may_run_again = false;
    /// ToolHost::process() of the tool. An open entry with the same content and process is adopted:
    /// this process of a host says what has come of it. 0: none does
    std::uint64_t process = 0;
    /// Unique name and source_text of the tool, for repeats while it is not registered
    std::string tool, source;
    bool side_effects = true;  ///< of the tool, for the same purpose
    /// The audit record that unfinished() returns after a crash; may be empty
    std::string record;
    std::string event;  ///< the envelope of the call's request event, likewise; may be empty
    std::string addressee;  ///< of that event
};
/// Records the outcome of an admitted call for repeats. A ref gets one end: one that comes when it
/// has been taken over or released changes nothing.
struct LedgerEnd {
    LedgerRef ref;
    std::shared_ptr<const Outcome> outcome;
    std::chrono::nanoseconds duration{0};
};
/// Removes the entry: nothing happened, a repeat runs as a new call.
struct LedgerRelease {
    LedgerRef ref;
};
/// Reads the entry of a key, in order with the changes.
struct LedgerQuestion {
    std::string tenant, principal, key;
    SystemTime forgotten_before;  ///< as in LedgerAdmission
};
using LedgerChange = std::variant<LedgerAdmission, LedgerEnd, LedgerRelease, LedgerQuestion>;

/// The state of an entry. kOpen: admitted in an earlier run of the gateway and never ended, so its
/// outcome is unknown. kAbsent: no such entry. kIncomparable: recorded by an older version with a
/// digest of another kind, so it cannot be compared. kRunning: another gateway of the fleet has
/// admitted it and may still run it; asked for again, it has ended some time.
enum class LedgerStatus : std::uint8_t {
    kAdmitted,
    kFinished,
    kConflict,
    kOpen,
    kAbsent,
    kIncomparable,
    kRunning
};

/// The answer to a change. To an end: kFinished, or kOpen when the ref has another end or none is
/// wanted any more. For releases it only confirms durability.
struct LedgerEntry {
    LedgerStatus status = LedgerStatus::kAdmitted;
    LedgerRef ref;  ///< names the entry in later changes
    /// With kAdmitted: by another process before, which may have sent it; it is not known here what
    /// has come of that, so a release changes nothing unless the tool is idempotent
    bool adopted = false;
    /// As in LedgerAdmission, as are the next four, in answers to questions; nothing: of another
    /// kind
    std::optional<ContentDigest> content{};
    std::string tool{}, source{};  ///< empty in entries of older versions
    bool side_effects = true, may_run_again = false;
    std::shared_ptr<const Outcome> outcome;  ///< for kFinished
    std::chrono::nanoseconds duration{0};  ///< for kFinished: of the first call
    SystemTime admitted_at;
};

/// A call of an earlier run whose audit record and events may be missing.
struct UnfinishedCall {
    std::string record, event, addressee;
    SystemTime admitted_at;
    std::shared_ptr<const Outcome> outcome;  ///< null: it never ended
    std::chrono::nanoseconds duration{0};
};

/// Store of calls that must not run twice. All functions may block (call them on BlockingPool) and
/// are thread-safe.
class LedgerStore {
public:
    virtual ~LedgerStore() = default;

    /// Writes all changes in order in one durable commit; one answer each. On failure nothing is
    /// written and every answer is the error: kUnavailable (disk full, busy, I/O), kInternal.
    virtual std::vector<Result<LedgerEntry>> write(const std::vector<LedgerChange>& changes) = 0;
    /// The entries of earlier runs that never ended, and at most 1,000 that ended in the last 5 s
    /// of the previous run, in order; the same until mark_reported().
    virtual Result<std::vector<UnfinishedCall>> unfinished() = 0;
    /// The result of unfinished() has been processed.
    virtual Result<void> mark_reported() = 0;
    /// Removes the oldest entries, those admitted before `before`, 1,000 at most so that calls are
    /// not held up; returns how many.
    virtual Result<std::uint64_t> forget(SystemTime before) = 0;
    /// Ends and releases whose write has failed and that the store sends again by itself.
    virtual std::size_t owed() const { return 0; }
};

}  // namespace crab::core
