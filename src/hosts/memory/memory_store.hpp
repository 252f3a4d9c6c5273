#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"
#include "hosts/memory/query_terms.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace crab::memory {

/// Whose memories: nothing that is asked in one scope reads or changes another. An empty isolation
/// key is the global scope of the agent; a key spelled `global` is a scope like any other. Source:
/// docs/protocols/rtp.md, "Memory host".
struct MemoryScope {
    TenantId tenant;
    std::string agent_id;
    std::string isolation_key;
    friend auto operator<=>(const MemoryScope&, const MemoryScope&) = default;
};

/// How many entries a scope holds at most.
inline constexpr std::uint64_t kMostEntriesPerScope = 100'000;
/// How long a change is remembered, so that its repeat changes nothing.
inline constexpr std::chrono::hours kChangeMemory{24};

struct NewMemory {
    std::string entry_id;        ///< unique among all entries
    std::string text;            ///< UTF-8
    std::string tags = "[]";     ///< a JSON array of strings, no NUL in them
    std::string metadata = "{}"; ///< a JSON object
    std::optional<SystemTime> occurred_at = {};   ///< absent: when it is appended
};

struct MemoryAppend {
    std::vector<NewMemory> entries;   ///< in their order
};

/// What a delete is about: entries by id, those that occurred before a time (and have all of some
/// tags), or all of a scope.
struct DeleteIds {
    std::vector<std::string> entry_ids;
};
struct DeleteBefore {
    SystemTime before;
    std::string tags = "[]";
};
struct DeleteAll {};
using MemoryDelete = std::variant<DeleteIds, DeleteBefore, DeleteAll>;

/// One change of one scope, which happens as a whole or not at all.
struct MemoryWrite {
    MemoryScope scope;
    std::string principal;  ///< with tenant and `key` it names the change: a repeat changes nothing
    std::string key;  ///< the idempotency key, else the call id
    std::string operation_id;  ///< of the change, if this is not a repeat
    SystemTime at;  ///< whole milliseconds; `created_at` of what it adds
    std::variant<MemoryAppend, MemoryDelete> change;
};

/// What came of a change; a repeat gets what the first one got.
struct MemoryWritten {
    std::string operation_id;
    SystemTime at;
    std::vector<std::string> entry_ids;  ///< of an append, in order
    std::uint64_t deleted = 0;  ///< of a delete
    std::vector<std::string> not_found;  ///< ids that a delete named and the scope does not have
    bool repeated = false;
};

enum class MemoryOrder : std::uint8_t { kRelevance, kNewest, kOldest };

struct MemoryQuery {
    /// All must hold; without a word to look for the order kRelevance is kNewest
    std::vector<QueryTerm> terms;
    std::string tags = "[]";  ///< a JSON array of strings; an entry must have them all
    std::optional<SystemTime> since;  ///< occurred then or later
    std::optional<SystemTime> until;  ///< occurred earlier
    MemoryOrder order = MemoryOrder::kRelevance;
    std::size_t limit = 20;
    /// Of text, tags and metadata together; at least one entry is given
    std::size_t max_bytes = std::size_t{1} << 20;
    /// MemoryPage::next of the page before, of the same query in the same scope
    std::string after;
};

struct MemoryEntry {
    std::string entry_id;
    std::string text;
    std::string tags;  ///< a JSON array
    std::string metadata;  ///< a JSON object
    SystemTime occurred_at;
    SystemTime created_at;
    std::optional<double> score;  ///< BM25 within the scope, when the order is by relevance
};

struct MemoryPage {
    std::vector<MemoryEntry> entries;
    std::string next;  ///< bytes that lead to the next page; empty: this is the last
};

/// Where memories are kept. All functions may block (call them on BlockingPool) and are
/// thread-safe. Errors of all: kUnavailable and kInternal of the store.
class MemoryStore {
public:
    virtual ~MemoryStore() = default;

    /// Makes all changes with one durable commit and returns what came of each, in order. Deletes
    /// come before appends. When the commit fails, nothing has changed and every answer says so.
    /// Errors of single changes, which leave the others alone: kConflict (the key was used for
    /// another change), kRateLimited (the scope is full; not retryable).
    virtual std::vector<Result<MemoryWritten>> write(std::span<const MemoryWrite> writes) = 0;

    /// One page of the matching entries. Later pages show what was there when the first was asked,
    /// less what has been deleted since: no entry twice, none left out. Entries of equal rank or
    /// time come in the order of appending, the newest first (with kOldest the oldest). Errors:
    /// kInvalidArgs when `after` is not from a page of this query.
    virtual Result<MemoryPage> query(const MemoryScope& scope, const MemoryQuery& query) = 0;
};

}  // namespace crab::memory
