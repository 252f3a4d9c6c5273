#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace crab::core {

/// A call that wants to be dispatched. If its key (tenant, principal, key) is known already,
/// nothing is written and the answer says what is known; entries admitted before `forgotten_before`
/// do not count.
struct LedgerAdmission {
    std::string tenant, principal, key;
    ContentDigest content{};  ///< of the call
    SystemTime at, forgotten_before;
    /// A repeat has no second effect: an open entry of the same content is taken over
    bool may_run_again = false;
    /// Unique name and source_text of the tool, for repeats that come while it is not there
    std::string tool, source;
    bool side_effects = true;  ///< of the tool, for the same
    /// The audit record that unfinished() hands out after a crash; may be empty
    std::string record;
    std::string event;  ///< the envelope of the call's request, for the same; may be empty
    std::string addressee;  ///< of that event
};
/// The outcome of an admitted call; repeats get it.
struct LedgerEnd {
    std::int64_t number = 0;
    std::shared_ptr<const Outcome> outcome;
    std::chrono::nanoseconds duration{0};
};
/// Nothing happened: the entry goes, a repeat runs as if there had been no call.
struct LedgerRelease {
    std::int64_t number = 0;
};
/// Changes nothing: asks, in its turn among the changes, what is known of a key.
struct LedgerQuestion {
    std::string tenant, principal, key;
    SystemTime forgotten_before;  ///< as in LedgerAdmission
};
using LedgerChange = std::variant<LedgerAdmission, LedgerEnd, LedgerRelease, LedgerQuestion>;

/// How an entry stands. kOpen: it was admitted in an earlier run of the gateway and never ended, so
/// its outcome is unknown. kAbsent: there is none (the answer to a question). kIncomparable: it was
/// recorded by an older program, with a digest of another kind, so nobody can say whether it is the
/// same call.
enum class Standing : std::uint8_t {
    kAdmitted,
    kFinished,
    kConflict,
    kOpen,
    kAbsent,
    kIncomparable
};

/// The answer to a change; to ends and releases only that they are durable.
struct LedgerEntry {
    Standing standing = Standing::kAdmitted;
    std::int64_t number = 0;  ///< names the entry in later changes
    /// As in LedgerAdmission, in answers to questions, as are the next four; nothing: of another
    /// kind
    std::optional<ContentDigest> content{};
    std::string tool{}, source{};  ///< empty in entries that older versions have written
    bool side_effects = true, may_run_again = false;
    std::shared_ptr<const Outcome> outcome;  ///< for kFinished
    std::chrono::nanoseconds duration{0};  ///< for kFinished: of the first call
    SystemTime admitted_at;
};

/// A call of an earlier run, of which the audit log and the outbox of events may lack what was
/// not written when that ended.
struct UnfinishedCall {
    std::string record, event, addressee;
    SystemTime admitted_at;
    std::shared_ptr<const Outcome> outcome;  ///< null: it never ended
    std::chrono::nanoseconds duration{0};
};

/// Where calls are recorded that must not run twice. All functions may block (call them on
/// BlockingPool) and are thread-safe.
class LedgerStore {
public:
    virtual ~LedgerStore() = default;

    /// All changes in one durable commit, in their order; one answer each. When the commit fails
    /// nothing is written and every answer is its error: kUnavailable (disk full, busy, I/O),
    /// kInternal.
    virtual std::vector<Result<LedgerEntry>> write(const std::vector<LedgerChange>& changes) = 0;
    /// The entries of earlier runs that never ended, and at most 1,000 that ended within the last 5
    /// s of the last one, in their order; all again until mark_told().
    virtual Result<std::vector<UnfinishedCall>> unfinished() = 0;
    /// Everybody has what unfinished() gave.
    virtual Result<void> mark_told() = 0;
    /// Removes the oldest entries, those admitted before `before`, 1,000 at most so that calls are
    /// not held up; returns how many.
    virtual Result<std::uint64_t> forget(SystemTime before) = 0;
};

}  // namespace crab::core
