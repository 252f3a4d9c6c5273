#pragma once

#include "base/test_clock.hpp"
#include "hosts/memory/memory_store.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace crab::store {

/// What tests of stores of memories do, whatever the engine; they open `store`.
class MemorySteps {
protected:
    memory::MemoryWrite write_of(std::variant<memory::MemoryAppend, memory::MemoryDelete> change,
                                 std::string key = {}) {
        ++made;
        return {.scope = scope,
                .principal = "caller/ann",
                .key = key.empty() ? fmt::format("key-{}", made) : std::move(key),
                .operation_id = fmt::format("operation-{}", made),
                .at = now,
                .change = std::move(change)};
    }
    Result<memory::MemoryWritten> write(const memory::MemoryWrite& one) {
        return store->write(std::span(&one, 1)).at(0);
    }
    memory::NewMemory entry(std::string text, std::string tags = "[]") {
        return {.entry_id = fmt::format("entry-{:06}", ++entries),
                .text = std::move(text),
                .tags = std::move(tags)};
    }
    std::string add(std::string text, std::string tags = "[]",
                    std::optional<SystemTime> occurred = {}) {
        memory::MemoryAppend append;
        append.entries.push_back(entry(std::move(text), std::move(tags)));
        append.entries.back().occurred_at = occurred;
        return write(write_of(std::move(append))).value().entry_ids.at(0);
    }
    memory::MemoryWritten remove(memory::MemoryDelete what) {
        return write(write_of(std::move(what))).value();
    }
    memory::MemoryQuery query(std::string_view text = {}) {
        memory::MemoryQuery made_query;
        made_query.terms = memory::parse_query_terms(text);
        made_query.limit = 100;
        return made_query;
    }
    memory::MemoryPage ask(const memory::MemoryQuery& of) {
        return store->query(scope, of).value();
    }
    static std::vector<std::string> texts(const memory::MemoryPage& page) {
        std::vector<std::string> found;
        for (const memory::MemoryEntry& one : page.entries) found.push_back(one.text);
        return found;
    }
    std::vector<std::string> find(std::string_view text) { return texts(ask(query(text))); }

    std::unique_ptr<memory::MemoryStore> store;
    memory::MemoryScope scope{
        .tenant = TenantId("acme"), .agent_id = "butler", .isolation_key = {}};
    SystemTime now = FakeClock().system_now();
    int made = 0, entries = 0;
};

}  // namespace crab::store
