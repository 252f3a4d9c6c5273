#include "adapters/mcp/wire/result_uris.hpp"

#include "json/raw_parts.hpp"
#include "json/writer.hpp"

namespace crab::mcp {
namespace {

using MapRaw = std::function<std::string(std::string_view)>;

std::string with_member(std::string_view object, std::string_view name, const MapRaw& map) {
    if (!json::find_raw(object, name)) return std::string(object);
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(object); parts.next();) {
        writer.key(parts.name());
        if (parts.name() == name) {
            writer.raw(map(parts.value()));
        } else {
            writer.raw(parts.value());
        }
    }
    writer.end_object();
    return out;
}

MapRaw each_of(MapRaw map) {
    return [map = std::move(map)](std::string_view array) {
        if (!array.starts_with('[')) return std::string(array);
        std::string out;
        json::Writer writer(out);
        writer.begin_array();
        for (json::RawParts items(array); items.next();) writer.raw(map(items.value()));
        writer.end_array();
        return out;
    };
}

std::string with_uri(std::string_view object, const MapUri& map, std::string_view name = "uri") {
    return with_member(object, name, [&](std::string_view raw) {
        const auto uri = json::read_raw_string(raw);
        if (!uri) return std::string(raw);
        std::string out;
        json::append_quoted(out, map(*uri));
        return out;
    });
}

std::string map_block(std::string_view block, const MapUri& map) {
    const auto type = json::find_raw_string(block, "type").value_or("");
    if (type == "resource_link") return with_uri(block, map);
    if (type != "resource") return std::string(block);
    return with_member(block, "resource",
                       [&](std::string_view resource) { return with_uri(resource, map); });
}

}  // namespace

std::string map_read_uris(std::string_view result, const MapUri& map) {
    return with_member(result, "contents",
                       each_of([&](std::string_view one) { return with_uri(one, map); }));
}

std::string map_call_uris(std::string_view result, const MapUri& map) {
    return with_member(result, "content",
                       each_of([&](std::string_view block) { return map_block(block, map); }));
}

std::string map_tool_uris(std::string_view entry, const MapUri& map) {
    return with_member(entry, "_meta", [&](std::string_view meta) {
        if (!meta.starts_with('{')) return std::string(meta);
        const std::string older = with_uri(meta, map, "ui/resourceUri");
        return with_member(older, "ui", [&](std::string_view ui) {
            return ui.starts_with('{') ? with_uri(ui, map, "resourceUri") : std::string(ui);
        });
    });
}

std::string map_prompt_uris(std::string_view result, const MapUri& map) {
    const auto message = [&](std::string_view one) {
        return with_member(one, "content",
                           [&](std::string_view block) { return map_block(block, map); });
    };
    return with_member(result, "messages", each_of(message));
}

}  // namespace crab::mcp
