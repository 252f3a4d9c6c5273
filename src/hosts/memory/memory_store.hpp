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

/// The scope of memories; scopes are isolated from each other. An empty isolation key is the
/// agent's global scope; the key `global` is an ordinary scope. Source: docs/protocols/rtp.md,
/// "Memory host".
struct MemoryScope {
    TenantId tenant;
    std::string agent_id;
    std::string isolation_key;
    friend auto operator<=>(const MemoryScope&, const MemoryScope&) = default;
};

/// Limit of entries per scope.
inline constexpr std::uint64_t kMostEntriesPerScope = 100'000;
/// How long a change is remembered to detect repeats.
inline constexpr std::chrono::hours kChangeMemory{24};

struct NewMemory {
    std::string entry_id;        ///< unique among all entries
    std::string text;            ///< UTF-8
    std::string tags = "[]";     ///< a JSON array of strings without NUL
    std::string metadata = "{}"; ///< a JSON object
    std::optional<SystemTime> occurred_at = {};   ///< absent: when it is appended
};

struct MemoryAppend {
    std::vector<NewMemory> entries;   ///< in their order
};

/// What to delete: entries by id, those that occurred before a time (and have all given tags), or
/// all of a scope.
struct DeleteIds {
    std::vector<std::string> entry_ids;
};
struct DeleteBefore {
    SystemTime before;
    std::string tags = "[]";
};
struct DeleteAll {};
using MemoryDelete = std::variant<DeleteIds, DeleteBefore, DeleteAll>;

/// One atomic change of one scope.
struct MemoryWrite {
    MemoryScope scope;
    /// With tenant and `key` it identifies the change: a repeat changes nothing
    std::string principal;
    std::string key;  ///< the idempotency key, else the call id
    std::string operation_id;  ///< used only if this is not a repeat
    SystemTime at;  ///< whole milliseconds; `created_at` of what it adds
    std::variant<MemoryAppend, MemoryDelete> change;
};

/// The result of a change; a repeat gets the first result.
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
    /// All must match; without a search word the order kRelevance is kNewest
    std::vector<QueryTerm> terms;
    std::string tags = "[]";  ///< a JSON array of strings; an entry must have them all
    std::optional<SystemTime> since;  ///< occurred then or later
    std::optional<SystemTime> until;  ///< occurred earlier
    MemoryOrder order = MemoryOrder::kRelevance;
    std::size_t limit = 20;
    /// Of text, tags and metadata together; at least one entry is returned
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
    std::string next;  ///< cursor of the next page; empty: this is the last
};

/// Store of memories. All functions may block (call them on BlockingPool) and are thread-safe.
/// Errors of all: kUnavailable and kInternal of the store.
class MemoryStore {
public:
    virtual ~MemoryStore() = default;

    /// Makes all changes in one durable commit and returns one result each, in order. Deletes
    /// precede appends. If the commit fails, nothing has changed and every result is the error.
    /// Errors of single changes, which do not affect the others: kConflict (the key was used for
    /// another change), kRateLimited (the scope is full; not retryable).
    virtual std::vector<Result<MemoryWritten>> write(std::span<const MemoryWrite> writes) = 0;

    /// One page of the matching entries. Later pages show the state of the first page's query, less
    /// deleted entries: no entry twice, none left out. Entries of equal rank or time come in the
    /// order of appending, the newest first (with kOldest the oldest). Errors: kInvalidArgs when
    /// `after` is not from a page of this query.
    virtual Result<MemoryPage> query(const MemoryScope& scope, const MemoryQuery& query) = 0;
};

}  // namespace crab::memory
