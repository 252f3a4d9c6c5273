#pragma once

#include "adapters/mcp/upstreams/pins.hpp"
#include "adapters/mcp/upstreams/tool_reading.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "json/parser.hpp"
#include "json/value.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// Of an entry of any list: schemas nest 128 deep within one.
inline constexpr json::Limits kEntryLimits{.max_depth = 160};
inline constexpr std::size_t kNameInReports = 128;  ///< bytes of a name that is told

/// Resources, templates or prompts of an upstream, ready for a Catalog.
struct CatalogReading {
    std::vector<Catalog::Entry> entries;  ///< in the upstream's order; each key once
    std::vector<PinnedText> pinned;       ///< one for each entry
    std::vector<SkippedEntry> left_out;
};

/// `key_member`: `uri`, `uriTemplate` or `name`; `kind` is that of the pins. Titles, descriptions
/// (of a prompt's arguments too) and the names of resources are cleaned (section 8, "Text");
/// everything else stays in its bytes. Entries that readers could take differently are left out.
CatalogReading read_catalog(std::span<const std::string> entries, std::string_view key_member,
                            std::string_view kind);

/// Why an entry of a list means different things to different readers: it has two members of one
/// name at some depth, or is no JSON. Nothing when it does not.
std::optional<std::string> ambiguity_of(std::string_view entry, json::Parser& parser);
/// So that the same value in another order is the same text.
void sort_members(json::Value& value);
/// The icons that may be shown (https, or small `data:`); empty when there are none.
std::string safe_icons(std::string_view icons);

}  // namespace crab::mcp
