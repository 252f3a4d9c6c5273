#pragma once

#include "hosts/memory/memory_store.hpp"
#include "store/memory/memory_order.hpp"
#include "store/memory/word_finder.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/memory_words.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace crab::store::postgres {

/// One reading connection: finds a page of memories. The index finds the texts that may match;
/// they are read in pieces, so that memory is bounded, and compared here. Not thread-safe;
/// MemoryStorePostgres gives one to one query at a time.
class MemorySearchPostgres {
public:
    MemorySearchPostgres(const ConnectionOptions& options, std::unique_ptr<WordFinder> finder)
        : database_(options), finder_(std::move(finder)) {}

    Result<memory::MemoryPage> find(const memory::MemoryScope& scope,
                                    const memory::MemoryQuery& query);

private:
    struct Scope {
        std::int64_t number = 0, last_row = 0, entries = 0, words = 0;
    };
    /// False ends the walk.
    using Visit = std::function<bool(const Rows::Row& row)>;

    Result<memory::MemoryPage> find_in(const Scope& scope, memory::MemoryQuery query);
    Result<std::vector<double>> weigh(const Scope& scope, const MemoryPhrases& phrases);
    Result<std::vector<MemoryMark>> ranked(const Scope& scope, const MemoryPhrases& phrases,
                                           const memory::MemoryQuery& query,
                                           const MemoryPosition& position);
    Result<std::vector<MemoryMark>> by_time(const Scope& scope, const MemoryPhrases& phrases,
                                            const memory::MemoryQuery& query,
                                            const MemoryPosition& position);
    Result<void> walk(const Scope& scope, const MemoryPhrases& phrases,
                      const memory::MemoryQuery& query, const MemoryPosition& position,
                      const Visit& visit);
    Result<std::vector<memory::MemoryEntry>> read_entries(std::span<const MemoryMark> marks);
    Result<memory::MemoryPage> read_page(const std::vector<MemoryMark>& marks,
                                         const memory::MemoryQuery& query, MemoryPosition position);
    bool match(const Rows::Row& row, const MemoryPhrases& phrases,
               std::vector<std::uint32_t>& counts) const;

    Connection database_;
    const std::unique_ptr<WordFinder> finder_;
};

}  // namespace crab::store::postgres
