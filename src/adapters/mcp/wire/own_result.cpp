#include "adapters/mcp/wire/own_result.hpp"

#include "adapters/mcp/wire/content.hpp"
#include "base/encoding.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::string with_blocks(std::string_view blocks) {
    return fmt::format(R"({{"content":[{}]}})", blocks);
}

}  // namespace

std::string text_result(std::string_view text) {
    std::string block;
    append_text_block(block, text);
    return with_blocks(block);
}

std::string json_result(std::string_view json) {
    std::string compact, block;
    json::append_compact(compact, json);
    append_text_block(block, compact);
    return fmt::format(R"({{"content":[{}],"structuredContent":{}}})", block, json);
}

bool may_hold_media(std::string_view json) {
    constexpr std::string_view kMember = "\"data_base64\"";
    constexpr std::size_t kAt = kMember.find('_');  // which is rarer than the quotes
    for (std::size_t at = json.find('_', kAt); at != json.npos; at = json.find('_', at + 1))
        if (json.substr(at - kAt).starts_with(kMember)) return true;
    return false;
}

std::optional<std::string> media_result(std::string_view json) {
    if (!may_hold_media(json)) return std::nullopt;
    const auto type = json::find_raw_string(json, "mime_type").value_or("");
    const auto data = json::find_raw(json, "data_base64").value_or("");
    const bool is_image = type.starts_with("image/");
    if ((!is_image && !type.starts_with("audio/")) || !data.starts_with('"')) return std::nullopt;
    std::string block, rest;
    json::Writer writer(block);
    writer.begin_object().key("type").string(is_image ? "image" : "audio");
    writer.key("data").raw(data).key("mimeType").string(type).end_object();
    json::Writer others(rest);
    others.begin_object();
    for (json::RawParts parts(json); parts.next();)
        if (parts.name() != "data_base64") others.key(parts.name()).raw(parts.value());
    others.end_object();
    block += ',';
    append_text_block(block, rest);
    return fmt::format(R"({{"content":[{}],"structuredContent":{}}})", block, rest);
}

std::string bytes_result(std::string_view bytes, std::string_view media_type,
                         std::string_view call_id) {
    const std::string base64 =
        to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    std::string block;
    json::Writer writer(block);
    writer.begin_object();
    if (media_type.starts_with("image/") || media_type.starts_with("audio/")) {
        writer.key("type").string(media_type.substr(0, media_type.find('/')));
        writer.key("data").string(base64).key("mimeType").string(media_type);
    } else {
        writer.key("type").string("resource").key("resource").begin_object();
        writer.key("uri").string(fmt::format("crab://call/{}/result", call_id));
        if (!media_type.empty()) writer.key("mimeType").string(media_type);
        writer.key("blob").string(base64).end_object();
    }
    writer.end_object();
    return with_blocks(block);
}

std::string artifact_result(const ArtifactLink& artifact) {
    const std::string uri = fmt::format("crab://artifact/{}", artifact.id);
    std::string blocks;
    json::Writer writer(blocks);
    writer.begin_object().key("type").string("resource_link").key("uri").string(uri);
    writer.key("name").string(artifact.name);
    if (!artifact.media_type.empty()) writer.key("mimeType").string(artifact.media_type);
    writer.key("size").unsigned_integer(artifact.size).end_object();
    blocks += ',';
    append_text_block(blocks,
                      fmt::format("The result, {} bytes, is kept as {}: read that resource.",
                                  artifact.size, uri));
    return with_blocks(blocks);
}

}  // namespace crab::mcp
