#pragma once

#include <string>

namespace crab::store::postgres {

/// The statements of the ledger. Times are milliseconds of Unix time in parameters and results.
namespace ledger_sql {

/// $1…$12: arrays, an element for each admission; $13, $14: the node. One row for each, in order:
/// whether it was inserted, and whether the node may write.
extern const std::string kAdmit;
/// $1…$12: arrays, an element for each end; $13, $14: the node. A row for each that was decided by
/// this; NULL alone: the node may not write.
extern const std::string kEnd;
/// $1: refs. A row for each: the ref, and its kind.
extern const std::string kDecided;
/// $1…$5: the first arrays of kEnd without durations. A row for each ref whose end is that one.
extern const std::string kHasEnd;
/// $1: keys. A row for each that is there.
extern const std::string kRead;
/// $1: a key; its ref, node and incarnation, locked.
extern const std::string kLock;
/// $1: a ref, $2: a kind that is no outcome. A row if this decided it.
extern const std::string kDecide;
/// $1, $2: arrays, a key and a ref for each release; $3, $4: the node, which releases only its own;
/// $5: array, whether this process has admitted the ref, or has only adopted it.
extern const std::string kRelease;
/// $1: the key; then what the row becomes.
extern const std::string kTakeOver;
/// $1: the key, $2: the ref, which stays; $3, $4: the node that has it now.
extern const std::string kAdopt;
/// What a call owes to audit log and events.
extern const std::string kOwe;
/// $1, $2: the node, $3: how many milliseconds before the last admission, $4: how many at most.
extern const std::string kUnfinished;
/// $1: the time, $2: how many. How many rows of `call` are gone.
extern const std::string kForget;
/// Waits for the standbys, although nothing else was written.
extern const std::string kBarrier;

}  // namespace ledger_sql
}  // namespace crab::store::postgres
