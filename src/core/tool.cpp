#include "core/tool.hpp"

#include "json/schema.hpp"

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
        case SourceKind::kMcpServer: return "mcp_server";
    }
    return "";
}

void Tool::set_source(ToolSource from) {
    source = std::move(from);
    source_text = source.name.empty() ? std::string(name_of(source.kind)) : fmt::format("{}/{}", name_of(source.kind), source.name);
    unique_name = source.name.empty() ? spec.name : fmt::format("{}__{}", source.name, spec.name);
}

bool is_tool_name(std::string_view name) {
    constexpr std::size_t kMaxName = 128;
    return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    });
}

Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec) {
    if (!is_tool_name(spec.name)) {
        return fail(ErrorCode::kInvalidArgs, "a tool's name is 1 to 128 of A-Z a-z 0-9 _ . -; choose another");
    }
    if (spec.default_timeout.count() < 1 || spec.default_timeout > spec.max_timeout) {
        return fail(ErrorCode::kInvalidArgs, "the default timeout must be at least 1 ms and at most the maximum timeout");
    }
    if (spec.input_schema.empty() || spec.input_schema == "{}") spec.input_schema = R"({"type":"object"})";
    auto tool = std::make_shared<Tool>();
    auto input = json::Schema::compile(spec.input_schema, {});
    if (!input) return fail(ErrorCode::kInvalidArgs, fmt::format("the input schema does not compile: {}", input.error().message));
    tool->input = std::move(*input);
    if (!spec.output_schema.empty() && spec.output_schema != "{}") {
        auto output = json::Schema::compile(spec.output_schema, {});
        if (!output) return fail(ErrorCode::kInvalidArgs, fmt::format("the output schema does not compile: {}", output.error().message));
        tool->output = std::move(*output);
    }
    if (spec.max_concurrency) tool->gate = std::make_shared<ToolGate>(*spec.max_concurrency);
    tool->spec = std::move(spec);
    tool->set_source({});
    return tool;
}

}  // namespace crab::core
