#include "hosts/memory/memory_host.hpp"

#include "base/scope_exit.hpp"
#include "hosts/memory/memory_arguments.hpp"
#include "hosts/memory/memory_tools.hpp"
#include "hosts/memory/page_cursor.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <algorithm>

namespace crab::memory {
namespace {

/// Reads the arguments with `read`; what it returns views nothing of them.
template <class Read>
auto read_arguments(const core::AdmittedCall& call, Read read)
    -> std::invoke_result_t<Read, json::Element> {
    thread_local json::Parser parser;   // used between two suspensions only
    const ScopeExit done([] { parser.shrink(); });
    const auto root = parser.parse(call.args());
    if (!root) return fail(root.error());
    return read(root->element());
}

/// That of a caller who names none, as on the wire to other hosts.
std::string_view tenant_of(const core::Call& call) {
    return call.tenant.empty() ? core::kDefaultTenant : call.tenant;
}

MemoryScope scope_of(const core::Call& call) {
    return {.tenant = TenantId(std::string(tenant_of(call))),
            .agent_id = std::string(call.context.agent_id),
            .isolation_key = std::string(call.context.isolation_key)};
}

core::ToolResult append_result(const MemoryWritten& written) {
    std::string content;
    json::Writer writer(content);
    writer.begin_object()
        .key("operation_id")
        .string(written.operation_id)
        .key("entries")
        .begin_array();
    const std::string created = to_rfc3339(written.at);
    for (const std::string& id : written.entry_ids) {
        writer.begin_object()
            .key("entry_id")
            .string(id)
            .key("created_at")
            .string(created)
            .end_object();
    }
    writer.end_array().end_object();
    return core::json_result(std::move(content));
}

core::ToolResult delete_result(const MemoryWritten& written) {
    std::string content;
    json::Writer writer(content);
    writer.begin_object()
        .key("operation_id")
        .string(written.operation_id)
        .key("deleted")
        .unsigned_integer(written.deleted);
    writer.key("not_found").begin_array();
    for (const std::string& id : written.not_found) writer.string(id);
    writer.end_array().end_object();
    return core::json_result(std::move(content));
}

core::ToolResult page_result(const MemoryPage& page, const std::string& next_cursor) {
    std::string content;
    json::Writer writer(content);
    writer.begin_object().key("entries").begin_array();
    for (const MemoryEntry& entry : page.entries) {
        writer.begin_object().key("entry_id").string(entry.entry_id).key("text").string(entry.text);
        writer.key("tags").raw(entry.tags).key("metadata").raw(entry.metadata);
        writer.key("occurred_at")
            .string(to_rfc3339(entry.occurred_at))
            .key("created_at")
            .string(to_rfc3339(entry.created_at));
        if (entry.score) writer.key("score").number(*entry.score);
        writer.end_object();
    }
    writer.end_array();
    if (!next_cursor.empty()) writer.key("next_cursor").string(next_cursor);
    writer.end_object();
    return core::json_result(std::move(content));
}

}  // namespace

MemoryHost::MemoryHost(MemoryStore& store, BlockingPool& pool, const Clock& clock, IdSource& ids,
                       TimersHere timers_here)
    : store_(store),
      pool_(pool),
      clock_(clock),
      ids_(ids),
      timers_here_(std::move(timers_here)),
      writes_(store, pool, clock) {}

Task<core::Outcome> MemoryHost::run(core::AdmittedCall call, core::FrameSink&) {
    if (!call.principal()->may_act_in(tenant_of(call.call())))
        co_return fail(ErrorCode::kForbidden, "the memories of this tenant are not yours");
    const std::string_view name = call.tool().spec.name;
    if (name == kAppendTool) co_return co_await append(call);
    if (name == kQueryTool) co_return co_await query(call);
    if (name == kDeleteTool) co_return co_await remove(call);
    co_return fail(ErrorCode::kToolNotFound,
                   "the memory host has memory.append, memory.delete and memory.query");
}

/// The change with its ids, which only count if it is not a repeat.
MemoryWrite MemoryHost::write_of(const core::AdmittedCall& call,
                                 std::variant<MemoryAppend, MemoryDelete> change) {
    const core::Call& from = call.call();
    MemoryWrite write{
        .scope = scope_of(from),
        .principal = call.principal()->id,
        .key = std::string(from.idempotency_key.empty() ? from.id : from.idempotency_key),
        .operation_id = {},
        .at = now(),
        .change = std::move(change)};
    const std::scoped_lock lock(ids_mutex_);
    write.operation_id = ids_.uuid_v7().view();
    if (auto* append = std::get_if<MemoryAppend>(&write.change)) {
        std::vector<std::string> made(append->entries.size());
        for (std::string& id : made) id = ids_.uuid_v7().view();
        std::ranges::sort(made);   // the ids of one append are in the order of its entries
        for (std::size_t i = 0; i < made.size(); ++i)
            append->entries[i].entry_id = std::move(made[i]);
    }
    return write;
}

Task<core::Outcome> MemoryHost::append(core::AdmittedCall call) {
    auto entries = read_arguments(call, read_append);
    if (!entries) co_return fail(std::move(entries.error()));
    auto write = write_of(call, std::move(*entries));
    const auto written = co_await writes_.write(std::move(write), timers_here_(), call.deadline());
    if (!written) co_return fail(written.error());
    co_return append_result(*written);
}

Task<core::Outcome> MemoryHost::remove(core::AdmittedCall call) {
    auto what = read_arguments(call, read_delete);
    if (!what) co_return fail(std::move(what.error()));
    auto write = write_of(call, std::move(*what));
    const auto written = co_await writes_.write(std::move(write), timers_here_(), call.deadline());
    if (!written) co_return fail(written.error());
    co_return delete_result(*written);
}

Task<core::Outcome> MemoryHost::query(core::AdmittedCall call) {
    auto read = read_arguments(call, read_query);
    if (!read) co_return fail(std::move(read.error()));
    const MemoryScope scope = scope_of(call.call());
    MemoryQuery& query = read->query;
    if (!read->cursor.empty()) {
        auto after = read_cursor(read->cursor, scope, query, now());
        if (!after) co_return fail(std::move(after.error()));
        query.after = std::move(*after);
    }
    // owns what it reads: it may go on after the deadline
    auto look = [&store = store_, scope, query] { return store.query(scope, query); };
    const auto page = co_await run_within(pool_, std::move(look), timers_here_(), call.deadline());
    if (!page) co_return fail(page.error());
    co_return page_result(
        *page, page->next.empty() ? std::string{} : to_cursor(page->next, scope, query, now()));
}

}  // namespace crab::memory
