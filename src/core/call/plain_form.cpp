#include "core/call/plain_form.hpp"

#include "json/raw_parts.hpp"

#include <utility>

namespace crab::core {
namespace {

std::optional<std::string> text_of(std::string_view object) {
    std::optional<std::string> all;
    for (json::RawParts blocks(json::find_raw(object, "content").value_or("[]")); blocks.next();) {
        if (json::find_raw_string(blocks.value(), "type") != "text") continue;
        std::string text = json::find_raw_string(blocks.value(), "text").value_or("");
        if (all) {
            *all += '\n';
            *all += text;
        } else {
            all = std::move(text);
        }
    }
    return all;
}

}  // namespace

std::optional<ToolResult> plain_form(const ToolResult& result) {
    if (result.kind != ContentKind::kJson || result.content_type != kBlocksType)
        return std::nullopt;
    ToolResult plain = result;
    plain.content_type.clear();
    if (const auto structured = json::find_raw(result.content, "structuredContent")) {
        plain.content.clear();
        json::append_compact(plain.content, *structured);
    } else if (auto text = text_of(result.content)) {
        plain.kind = ContentKind::kText;
        plain.content = std::move(*text);
    }
    return plain;
}

}  // namespace crab::core
