#include "agent/tool_output.hpp"

#include "base/cut_text.hpp"
#include "base/encoding.hpp"
#include "core/call/artifact.hpp"
#include "core/call/plain_form.hpp"
#include "json/parser.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>

namespace crab::agent {
namespace {

std::string error_text(const Error& error) {
    const std::string_view code = token_of(error.code);
    // A tool may have prefixed its code already, in either form or both; it is not repeated.
    std::string_view text = error.message;
    for (const std::string& said :
         {fmt::format("{}: ", code), fmt::format("[{}] ", code), fmt::format("{}: ", code)}) {
        if (text.starts_with(said)) text.remove_prefix(said.size());
    }
    return fmt::format("Error: {}: {}", code, text);
}

std::string whole_text(const core::ToolResult& result) {
    if (const auto plain = core::plain_form(result)) return plain->content;
    switch (result.kind) {
        case core::ContentKind::kText:
        case core::ContentKind::kJson: return result.content;
        case core::ContentKind::kBytes:
            return fmt::format(
                "[{} bytes of {}]", result.content.size(),
                result.content_type.empty() ? "application/octet-stream" : result.content_type);
    }
    return result.content;
}

}  // namespace

std::string shown_to_model(const core::Outcome& outcome, std::size_t most_bytes) {
    const std::string text = outcome ? whole_text(*outcome) : error_text(outcome.error());
    if (text.size() <= most_bytes) return text;
    const std::string_view kept = cut_text(text, most_bytes);
    return fmt::format("{}\n[cut here: {} of {} bytes are shown; ask for less at once]", kept,
                       kept.size(), text.size());
}

namespace {

std::optional<ToolPicture> picture_of(std::string_view base64) {
    constexpr std::size_t kMostBase64 = core::kMostPictureBytes / 3 * 4 + 8;
    if (base64.empty() || base64.size() > kMostBase64) return std::nullopt;
    const auto bytes = from_base64(base64);
    auto picture = bytes ? core::inspect_picture(*bytes) : fail(ErrorCode::kInvalidArgs, "");
    if (!picture) return std::nullopt;
    return ToolPicture{.picture = std::move(*picture), .base64 = std::string(base64)};
}

bool is_picture_type(std::string_view type) { return type.starts_with("image/"); }

}  // namespace

std::optional<ToolPicture> inline_picture(const core::ToolResult& result) {
    constexpr std::string_view kData = "data:image/", kBase64 = ";base64,";
    const std::string_view content = result.content;
    if (result.kind == core::ContentKind::kBytes) {
        return is_picture_type(result.content_type) && content.size() <= core::kMostPictureBytes
                   ? picture_of(to_base64(std::span(
                         reinterpret_cast<const std::uint8_t*>(content.data()), content.size())))
                   : std::nullopt;
    }
    if (content.starts_with(kData)) {
        const std::size_t at = content.find(kBase64);
        return at < 64 ? picture_of(content.substr(at + kBase64.size())) : std::nullopt;
    }
    if (!content.starts_with('{') || content.find("image/") == std::string_view::npos)
        return std::nullopt;
    json::Parser parser(json::Limits{.max_bytes = std::size_t{16} << 20, .max_depth = 64});
    const auto root = parser.parse(content);
    if (!root) return std::nullopt;
    const json::Element object = root->element();
    const bool picture = is_picture_type(json::get_string(object, "mime_type").value_or("")) ||
                         is_picture_type(json::get_string(object, "content_type").value_or(""));
    for (const std::string_view member : {"data_base64", "base64", "data"}) {
        const auto data = json::get_string(object, member);
        if (picture && data) return picture_of(*data);
    }
    return std::nullopt;
}

std::optional<std::string> picture_artifact(const core::ToolResult& result) {
    if (!core::is_reference(result)) return std::nullopt;
    json::Parser parser;
    const auto root = parser.parse(result.content);
    const auto artifact = root ? json::get(root->element(), "artifact") : std::nullopt;
    if (!artifact || !is_picture_type(json::get_string(*artifact, "content_type").value_or("")))
        return std::nullopt;
    const auto id = json::get_string(*artifact, "id");
    return id ? std::optional<std::string>(*id) : std::nullopt;
}

std::string picture_note(const core::Picture& picture, bool shown) {
    return fmt::format("[a picture, {}, {} x {} pixels, {} bytes; {}]", picture.mime_type,
                       picture.width, picture.height, picture.bytes,
                       shown ? "it is shown to you" : "you cannot see pictures");
}

}  // namespace crab::agent
