// Any text as a query: it is read, made an expression and searched with, page by page; it is never
// a syntax error and no page repeats.

#include "base/fuzz_check.hpp"
#include "base/process/test_folder.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"

#include <cstdint>
#include <string_view>

#include <simdjson.h>

namespace {

using namespace crab;

struct Bench {
    TestFolder folder;
    std::unique_ptr<store::sqlite::MemoryStoreSqlite> store;
    memory::MemoryScope scope{.tenant = TenantId("t"), .agent_id = "a", .isolation_key = {}};

    Bench() {
        store = std::move(
            store::sqlite::MemoryStoreSqlite::open(
                folder / "memory.db", {.durability = store::sqlite::Durability::kProcess}, 1)
                .value());
        memory::MemoryAppend append;
        for (const char* text :
             {"the red car", "a b c d e f", "café au lait", "1 2 3", "and or not near"}) {
            append.entries.push_back({.entry_id = text, .text = text});
        }
        const memory::MemoryWrite write{.scope = scope,
                                        .principal = "p",
                                        .key = "k",
                                        .operation_id = "o",
                                        .at = {},
                                        .change = std::move(append)};
        require(store->write(std::span(&write, 1))[0].has_value());
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 4'096;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // JSON lets nothing else through
    if (size > kMost || !simdjson::validate_utf8(text.data(), text.size())) return 0;
    static Bench bench;
    memory::MemoryQuery query;
    query.terms = memory::parse_query_terms(text);
    for (const memory::QueryTerm& term : query.terms)
        require(term.text.find('\0') == std::string::npos);
    for (const auto order : {memory::MemoryOrder::kRelevance, memory::MemoryOrder::kOldest}) {
        query.order = order;
        query.limit = 1;
        query.after.clear();
        std::size_t found = 0;
        do {
            const auto page = bench.store->query(bench.scope, query);
            require(page.has_value());
            found += page->entries.size();
            require(found <= 5);
            query.after = page->next;
        } while (!query.after.empty());
    }
    return 0;
}
