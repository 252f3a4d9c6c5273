#include "agent/tool_output.hpp"

#include "base/cut_text.hpp"


#include <fmt/format.h>

namespace crab::agent {
namespace {

std::string error_text(const Error& error) {
    const std::string_view code = token_of(error.code);
    // A tool may have put its code in front already, in one form or the other or in both; it is said once.
    std::string_view text = error.message;
    for (const std::string& said : {fmt::format("{}: ", code), fmt::format("[{}] ", code), fmt::format("{}: ", code)}) {
        if (text.starts_with(said)) text.remove_prefix(said.size());
    }
    return fmt::format("Error: {}: {}", code, text);
}

std::string whole_text(const core::ToolResult& result) {
    switch (result.kind) {
        case core::ContentKind::kText:
        case core::ContentKind::kJson: return result.content;
        case core::ContentKind::kBytes:
            return fmt::format("[{} bytes of {}]", result.content.size(), result.content_type.empty() ? "application/octet-stream" : result.content_type);
    }
    return result.content;
}

}  // namespace

std::string shown_to_model(const core::Outcome& outcome, std::size_t most_bytes) {
    const std::string text = outcome ? whole_text(*outcome) : error_text(outcome.error());
    if (text.size() <= most_bytes) return text;
    const std::string_view kept = cut_text(text, most_bytes);
    return fmt::format("{}\n[cut here: {} of {} bytes are shown; ask for less at once]", kept, kept.size(), text.size());
}

}  // namespace crab::agent
