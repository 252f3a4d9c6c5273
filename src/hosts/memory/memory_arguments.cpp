#include "hosts/memory/memory_arguments.hpp"

#include "hosts/memory/memory_tools.hpp"
#include "json/schema/rfc3339.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::memory {
namespace {

std::unexpected<Error> invalid(std::string_view pointer, std::string_view rule,
                               std::string_view message) {
    std::string details;
    json::Writer writer(details);
    writer.begin_object().key("errors").begin_array().begin_object();
    writer.key("pointer").string(pointer).key("rule").string(rule).key("message").string(message);
    writer.end_object().end_array().end_object();
    return fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", pointer, message),
                std::move(details));
}

Result<std::optional<SystemTime>> read_time(json::Element object, std::string_view name,
                                            std::string_view pointer_to_object) {
    const auto text = json::get_string(object, name);
    if (!text) return std::nullopt;
    const auto time = json::parse_rfc3339(*text);
    if (!time)
        return invalid(fmt::format("{}/{}", pointer_to_object, name), "format",
                       "an RFC 3339 date-time is needed, such as 2026-11-21T09:30:00Z");
    return time;
}

/// The tags as compact JSON: equal tags are equal texts.
Result<std::string> read_tags(json::Element object, std::string_view pointer_to_object) {
    std::string tags;
    json::Writer writer(tags);
    writer.begin_array();
    if (const auto array = json::get_array(object, "tags")) {
        for (const json::Element tag : *array) {
            const std::string_view text = tag.get_string().value_unsafe();
            if (text.find('\0') != std::string_view::npos)
                return invalid(fmt::format("{}/tags", pointer_to_object), "pattern",
                               "a tag holds no NUL");
            writer.string(text);
        }
    }
    writer.end_array();
    return tags;
}

Result<NewMemory> read_entry(json::Element element, std::string_view pointer) {
    NewMemory entry;
    entry.text = json::get_string(element, "text").value_or("");
    auto tags = read_tags(element, pointer);
    if (!tags) return fail(std::move(tags.error()));
    entry.tags = std::move(*tags);
    if (const auto metadata = json::get(element, "metadata")) {
        entry.metadata = json::to_text(*metadata);
        if (entry.metadata.size() > kMostMetadataBytes) {
            return invalid(fmt::format("{}/metadata", pointer), "maxLength",
                           fmt::format("at most {} bytes as compact JSON, not {}",
                                       kMostMetadataBytes, entry.metadata.size()));
        }
    }
    const auto occurred = read_time(element, "occurred_at", pointer);
    if (!occurred) return fail(occurred.error());
    entry.occurred_at = *occurred;
    return entry;
}

MemoryOrder order_of(std::string_view name) {
    if (name == "newest") return MemoryOrder::kNewest;
    if (name == "oldest") return MemoryOrder::kOldest;
    return MemoryOrder::kRelevance;
}

}  // namespace

Result<MemoryAppend> read_append(json::Element args) {
    MemoryAppend append;
    const auto entries = json::get_array(args, "entries");
    if (!entries) return invalid("/entries", "required", "entries are needed");
    for (const json::Element element : *entries) {
        auto entry = read_entry(element, fmt::format("/entries/{}", append.entries.size()));
        if (!entry) return fail(std::move(entry.error()));
        append.entries.push_back(std::move(*entry));
    }
    return append;
}

Result<QueryArguments> read_query(json::Element args) {
    QueryArguments read;
    read.query.terms = parse_query_terms(json::get_string(args, "query").value_or(""));
    read.query.order = order_of(json::get_string(args, "order").value_or(""));
    read.query.limit = static_cast<std::size_t>(json::get_int64(args, "limit").value_or(20));
    read.cursor = json::get_string(args, "cursor").value_or("");
    auto tags = read_tags(args, "");
    if (!tags) return fail(std::move(tags.error()));
    read.query.tags = std::move(*tags);
    const auto since = read_time(args, "since", "");
    if (!since) return fail(since.error());
    read.query.since = *since;
    const auto until = read_time(args, "until", "");
    if (!until) return fail(until.error());
    read.query.until = *until;
    return read;
}

Result<MemoryDelete> read_delete(json::Element args) {
    if (const auto ids = json::get_array(args, "entry_ids")) {
        DeleteIds remove;
        for (const json::Element id : *ids)
            remove.entry_ids.emplace_back(id.get_string().value_unsafe());
        return remove;
    }
    if (json::get_bool(args, "all").value_or(false)) return DeleteAll{};
    const auto before = read_time(args, "before", "");
    if (!before) return fail(before.error());
    if (!*before) return invalid("", "oneOf", "one of entry_ids, before and all is needed");
    auto tags = read_tags(args, "");
    if (!tags) return fail(std::move(tags.error()));
    return DeleteBefore{.before = **before, .tags = std::move(*tags)};
}

}  // namespace crab::memory
