#include "adapters/mcp/upstreams/catalog_reading.hpp"

#include "adapters/mcp/wire/name_limit.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "json/duplicates.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::size_t kMaxIcon = 64 << 10;

/// Texts that people and models read. The name of a prompt, or of its argument, goes back to the
/// upstream as it is.
bool is_shown_text(std::string_view member, std::string_view key_member) {
    return member == "title" || member == "description" ||
           (member == "name" && key_member != "name");
}

std::string with_clean_texts(std::string_view object) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(object); parts.next();) {
        const auto text = is_shown_text(parts.name(), "name") ? json::read_raw_string(parts.value())
                                                              : std::nullopt;
        writer.key(parts.name());
        if (text)
            writer.string(clean_text(*text).text);
        else
            writer.raw(parts.value());
    }
    writer.end_object();
    return out;
}

std::string cleaned_arguments(std::string_view arguments) {
    std::string out = "[";
    for (json::RawParts items(arguments); items.next();) {
        if (out.size() > 1) out += ',';
        out += items.value().starts_with('{') ? with_clean_texts(items.value())
                                              : std::string(items.value());
    }
    return out + "]";
}

/// The object with cleaned texts and safe icons.
std::string cleaned(std::string_view object, std::string_view key_member) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(object); parts.next();) {
        const std::string_view name = parts.name();
        const auto text =
            is_shown_text(name, key_member) ? json::read_raw_string(parts.value()) : std::nullopt;
        if (text) {
            writer.key(name).string(clean_text(*text).text);
        } else if (name == "arguments" && parts.value().starts_with('[')) {
            writer.key(name).raw(cleaned_arguments(parts.value()));
        } else if (name == "icons") {
            if (const std::string icons = safe_icons(parts.value()); !icons.empty())
                writer.key(name).raw(icons);
        } else {
            writer.key(name).raw(parts.value());
        }
    }
    writer.end_object();
    return out;
}

/// In one order of members, whatever the upstream's is.
std::string sorted(std::string_view text) {
    auto value = json::Value::parse(text, kEntryLimits);
    if (!value) return std::string(text);
    sort_members(*value);
    return value->dump();
}

/// What of it people and models rely on.
std::string pinned_form(std::string_view object) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (const std::string_view name : {"name", "title", "description"}) {
        if (const auto text = json::find_raw_string(object, name)) writer.key(name).string(*text);
    }
    // Written only where they are there, so that older pins of entries without them hold.
    for (const std::string_view name : {"mimeType", "arguments", "annotations"}) {
        if (const auto value = json::find_raw(object, name)) writer.key(name).raw(sorted(*value));
    }
    writer.end_object();
    return out;
}

}  // namespace

std::optional<std::string> ambiguity_of(std::string_view entry, json::Parser& parser) {
    const auto root = parser.parse(entry);
    if (!root) return root.error().message;
    const auto twice = root->find_duplicate();
    if (!twice) return std::nullopt;
    return "it has two members " + std::string(cut_text(clean_text(*twice).text, kNameInReports));
}

void sort_members(json::Value& value) {
    if (auto* const members = value.as_object()) {
        std::ranges::sort(*members, {}, &json::Value::Member::first);
        for (auto& [name, member] : *members) sort_members(member);
    } else if (auto* const items = value.as_array()) {
        for (json::Value& item : *items) sort_members(item);
    }
}

std::string safe_icons(std::string_view icons) {
    std::string out = "[";
    for (json::RawParts items(icons); items.next();) {
        const auto source = json::find_raw_string(items.value(), "src");
        const bool good = source && (source->starts_with("https://") ||
                                     (source->starts_with("data:") && source->size() <= kMaxIcon));
        if (!good) continue;
        if (out.size() > 1) out += ',';
        out += items.value();
    }
    out += ']';
    return out == "[]" ? "" : out;
}

CatalogReading read_catalog(std::span<const std::string> entries, std::string_view key_member,
                            std::string_view kind) {
    CatalogReading reading;
    std::set<std::string, std::less<>> keys;
    json::Parser parser(kEntryLimits);
    for (const std::string& entry : entries) {
        const auto key = json::find_raw_string(entry, key_member);
        const auto leave_out = [&](std::string_view name, std::string reason) {
            reading.left_out.push_back(
                {.name = std::string(cut_text(clean_text(name).text, kNameInReports)),
                 .reason = std::move(reason)});
        };
        if (!key || key->empty()) {
            leave_out("", "it has no " + std::string(key_member));
        } else if (key->size() > kMostNameBytes) {
            leave_out(*key, "its " + std::string(key_member) + " is longer than 8 KiB");
        } else if (auto ambiguous = ambiguity_of(entry, parser)) {
            leave_out(*key, std::move(*ambiguous));
        } else if (json::find_raw_string(entry, "description").value_or("").size() >
                   kMaxDescription) {
            leave_out(*key, "its description is longer than 8 KiB");
        } else if (!keys.insert(*key).second) {
            leave_out(*key, "another one before it has its " + std::string(key_member));
        } else {
            reading.entries.push_back({.key = *key, .json = cleaned(entry, key_member)});
            reading.pinned.push_back(
                {.kind = std::string(kind), .key = *key, .text = pinned_form(entry)});
        }
    }
    return reading;
}

}  // namespace crab::mcp
