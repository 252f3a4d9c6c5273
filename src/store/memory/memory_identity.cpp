#include "store/memory/memory_identity.hpp"

#include "json/value.hpp"

#include <fmt/format.h>

#include <variant>

namespace crab::store {
namespace {

using memory::MemoryAppend;
using memory::MemoryDelete;
using memory::MemoryWrite;

void add(crypto::Sha256& digest, std::string_view text) {
    digest.update_number(text.size()).update(text);
}

struct AddContent {
    crypto::Sha256& digest;

    void operator()(const MemoryAppend& append) const {
        digest.update_number(append.entries.size());
        for (const memory::NewMemory& entry : append.entries) {
            add(digest, entry.text);
            add(digest, entry.tags);
            add(digest, entry.metadata);
            digest.update_number(entry.occurred_at ? 1 : 0)
                .update_number(entry.occurred_at
                                   ? static_cast<std::uint64_t>(to_unix_ms(*entry.occurred_at))
                                   : 0);
        }
    }
    void operator()(const MemoryDelete& what) const {
        digest.update_number(what.index());
        std::visit(*this, what);
    }
    void operator()(const memory::DeleteIds& ids) const {
        for (const std::string& id : ids.entry_ids) add(digest, id);
    }
    void operator()(const memory::DeleteBefore& before) const {
        digest.update_number(static_cast<std::uint64_t>(to_unix_ms(before.before)));
        add(digest, before.tags);
    }
    void operator()(const memory::DeleteAll&) const {}
};

}  // namespace

crypto::Sha256Digest memory_key_of(const MemoryWrite& write) {
    crypto::Sha256 digest;
    add(digest, write.scope.tenant.text());
    add(digest, write.principal);
    add(digest, write.key);
    return digest.finish();
}

crypto::Sha256Digest memory_content_of(const MemoryWrite& write) {
    crypto::Sha256 digest;
    add(digest, write.scope.agent_id);
    add(digest, write.scope.isolation_key);
    digest.update_number(write.change.index());
    std::visit(AddContent{digest}, write.change);
    return digest.finish();
}

Error memory_key_conflict() {
    return {.code = ErrorCode::kConflict,
            .message = "this call id or idempotency key was used for another change; use a new one",
            .details = {},
            .retryable = {},
            .retry_after = {}};
}

Error memory_scope_full(std::uint64_t present) {
    return {.code = ErrorCode::kRateLimited,
            .message = fmt::format(
                "this agent's memory holds {} entries and {} is the most; delete some first",
                present, memory::kMostEntriesPerScope),
            .details = {},
            .retryable = false,
            .retry_after = {}};
}

std::string memory_list_to_json(const std::vector<std::string>& texts) {
    json::Value array = json::Value::array();
    for (const std::string& text : texts) array.push_back(text);
    return array.dump();
}

std::vector<std::string> memory_list_from_json(std::string_view text) {
    std::vector<std::string> texts;
    const auto array = json::Value::parse(text);
    if (!array || !array->is_array()) return texts;
    for (const json::Value& item : *array->as_array()) {
        if (const std::string* string = item.as_string()) texts.push_back(*string);
    }
    return texts;
}

}  // namespace crab::store
