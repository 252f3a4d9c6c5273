#include "core/call/tool.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {

std::string_view name_of(Effects effects) {
    switch (effects) {
        case Effects::kNone: return "none";
        case Effects::kUnknown: return "unknown";
        case Effects::kDeclared: return "declared";
    }
    return "";
}

std::string_view name_of(SourceKind kind) {
    switch (kind) {
        case SourceKind::kBuiltIn: return "built_in";
        case SourceKind::kDevice: return "device";
        case SourceKind::kPeer: return "peer";
        case SourceKind::kProvider: return "provider";
        case SourceKind::kCommand: return "command";
        case SourceKind::kMcpServer: return "mcp";
    }
    return "";
}

std::optional<SourceKind> kind_of_source(std::string_view source) {
    const std::string_view kind = source.substr(0, source.find('/'));
    for (const SourceKind each :
         {SourceKind::kBuiltIn, SourceKind::kDevice, SourceKind::kPeer, SourceKind::kProvider,
          SourceKind::kCommand, SourceKind::kMcpServer})
        if (name_of(each) == kind) return each;
    return std::nullopt;
}

void Tool::set_source(ToolSource from) {
    source = std::move(from);
    source_text = name_of(source.kind);
    if (!source.name.empty()) source_text += fmt::format("/{}", source.name);
    unique_name = source.name.empty() ? spec.name : fmt::format("{}__{}", source.name, spec.name);
}

bool is_tool_name(std::string_view name) {
    constexpr std::size_t kMaxName = 128;
    return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    });
}

}  // namespace crab::core
