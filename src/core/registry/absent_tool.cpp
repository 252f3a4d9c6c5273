#include "core/registry/absent_tool.hpp"

#include <array>
#include <string>

namespace crab::core {
namespace {

constexpr std::array kKinds{SourceKind::kBuiltIn,  SourceKind::kDevice,  SourceKind::kPeer,
                            SourceKind::kProvider, SourceKind::kCommand, SourceKind::kMcpServer};

}  // namespace

std::shared_ptr<Tool> absent_tool(const ToolSource& source, std::string_view plain_name,
                                  AbsentClaims claims) {
    auto tool = std::make_shared<Tool>();
    tool->spec.name = plain_name;
    tool->spec.side_effects = claims.side_effects;
    tool->spec.idempotent = claims.idempotent;
    tool->set_source(source);
    return tool;
}

std::shared_ptr<Tool> absent_tool(std::string_view unique_name, std::string_view source_text,
                                  AbsentClaims claims) {
    for (const SourceKind kind : kKinds) {
        const std::string_view word = name_of(kind);
        if (source_text == word)
            return absent_tool(ToolSource{.kind = kind, .name = {}, .owner = {}}, unique_name,
                               claims);
        if (!source_text.starts_with(word) || !source_text.substr(word.size()).starts_with('/'))
            continue;
        const std::string_view name = source_text.substr(word.size() + 1);
        if (!unique_name.starts_with(name) || !unique_name.substr(name.size()).starts_with("__"))
            return nullptr;
        return absent_tool(ToolSource{.kind = kind, .name = std::string(name), .owner = {}},
                           unique_name.substr(name.size() + 2), claims);
    }
    return nullptr;
}

bool may_mean(std::string_view name, std::string_view provider, const Tool& tool) {
    if (!provider.empty()) return provider == tool.source.name && name == tool.spec.name;
    return name == tool.unique_name || name == tool.spec.name;
}

}  // namespace crab::core
