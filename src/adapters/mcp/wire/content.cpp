#include "adapters/mcp/wire/content.hpp"

#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

/// About how many bytes base64 stands for, without decoding it.
std::size_t decoded_size(std::string_view base64) {
    std::size_t padding = 0;
    while (padding < 2 && base64.size() > padding && base64[base64.size() - 1 - padding] == '=')
        ++padding;
    return base64.size() / 4 * 3 - (base64.size() >= 4 ? padding : 0);
}

void append_audio_note(std::string& out, std::string_view block) {
    const auto data = json::find_raw(block, "data").value_or("\"\"");
    append_text_block(
        out, fmt::format("[audio, {}, {} bytes: this client's protocol version has no audio]",
                         json::find_raw_string(block, "mimeType").value_or("unknown type"),
                         decoded_size(data.size() < 2 ? data : data.substr(1, data.size() - 2))));
}

void append_link_note(std::string& out, std::string_view block) {
    const std::string name = json::find_raw_string(block, "name").value_or("resource");
    append_text_block(out,
                      fmt::format("{}: {}", json::find_raw_string(block, "title").value_or(name),
                                  json::find_raw_string(block, "uri").value_or("")));
}

}  // namespace

void append_text_block(std::string& out, std::string_view text) {
    json::Writer(out)
        .begin_object()
        .key("type")
        .string("text")
        .key("text")
        .string(text)
        .end_object();
}

void append_annotations(std::string& out, std::string_view annotations, Revision revision) {
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(annotations); parts.next();) {
        if (parts.name() == "lastModified" && !features_of(revision).last_modified) continue;
        writer.key(parts.name()).raw(parts.value());
    }
    writer.end_object();
}

void append_resource_contents(std::string& out, std::string_view contents, Revision revision) {
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(contents); parts.next();) {
        if (parts.name() == "_meta" && !features_of(revision).object_meta) continue;
        writer.key(parts.name()).raw(parts.value());
    }
    writer.end_object();
}

void append_content(std::string& out, std::string_view block, Revision revision) {
    const Features& has = features_of(revision);
    const std::string type = json::find_raw_string(block, "type").value_or("");
    if (type == "audio" && !has.audio) return append_audio_note(out, block);
    if (type == "resource_link" && !has.resource_links) return append_link_note(out, block);
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(block); parts.next();) {
        const std::string_view name = parts.name();
        if ((name == "_meta" && !has.object_meta) || (name == "icons" && !has.icons)) continue;
        std::string mapped;
        if (name == "annotations") append_annotations(mapped, parts.value(), revision);
        if (name == "resource" && type == "resource")
            append_resource_contents(mapped, parts.value(), revision);
        writer.key(name).raw(mapped.empty() ? parts.value() : mapped);
    }
    writer.end_object();
}

}  // namespace crab::mcp
