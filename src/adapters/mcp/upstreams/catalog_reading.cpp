#include "adapters/mcp/upstreams/catalog_reading.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <optional>
#include <set>

namespace crab::mcp {
namespace {

constexpr std::size_t kMaxIcon = 64 << 10;
constexpr std::size_t kNameInReports = 128;

/// The object with cleaned texts and safe icons.
std::string cleaned(std::string_view object) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(object); parts.next();) {
        const std::string_view name = parts.name();
        const auto text = name == "title" || name == "description"
                              ? json::read_raw_string(parts.value())
                              : std::nullopt;
        if (text) {
            writer.key(name).string(clean_text(*text).text);
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

/// What of it people and models rely on.
std::string pinned_form(std::string_view object) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (const std::string_view name : {"name", "title", "description"}) {
        if (const auto text = json::find_raw_string(object, name)) writer.key(name).string(*text);
    }
    writer.end_object();
    return out;
}

}  // namespace

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
    for (const std::string& entry : entries) {
        const auto key = json::find_raw_string(entry, key_member);
        const auto leave_out = [&](std::string_view name, std::string reason) {
            reading.left_out.push_back(
                {.name = std::string(cut_text(clean_text(name).text, kNameInReports)),
                 .reason = std::move(reason)});
        };
        if (!key || key->empty()) {
            leave_out("", "it has no " + std::string(key_member));
        } else if (json::find_raw_string(entry, "description").value_or("").size() >
                   kMaxDescription) {
            leave_out(*key, "its description is longer than 8 KiB");
        } else if (!keys.insert(*key).second) {
            leave_out(*key, "another one before it has its " + std::string(key_member));
        } else {
            reading.entries.push_back({.key = *key, .json = cleaned(entry)});
            reading.pinned.push_back(
                {.kind = std::string(kind), .key = *key, .text = pinned_form(entry)});
        }
    }
    return reading;
}

}  // namespace crab::mcp
