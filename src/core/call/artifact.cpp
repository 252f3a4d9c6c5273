#include "core/call/artifact.hpp"

#include "json/writer.hpp"

namespace crab::core {
namespace {

constexpr std::string_view kReferenceType = "application/vnd.crab.artifact+json";

}  // namespace

bool may_read(const Principal& principal, const Artifact& artifact) {
    if (principal.roles.are_of_operator()) return true;
    return principal.may(Role::kCaller) && principal.may_act_in(artifact.tenant) &&
           (artifact.caller.empty() || artifact.caller == principal.id);
}

bool is_artifact_id(std::string_view text) {
    constexpr std::size_t kSize = 32;
    return text.size() == kSize &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void append_artifact(std::string& out, const Artifact& artifact, bool whole) {
    json::Writer writer(out);
    writer.begin_object()
        .key("id")
        .string(artifact.id)
        .key("href")
        .string("/v1/artifacts/" + artifact.id);
    writer.key("content_type")
        .string_lossy(artifact.content_type)
        .key("bytes")
        .unsigned_integer(artifact.bytes)
        .key("sha256")
        .string(artifact.sha256);
    if (whole) {
        writer.key("tenant_id")
            .string_lossy(artifact.tenant)
            .key("caller")
            .string_lossy(artifact.caller)
            .key("owner")
            .string_lossy(artifact.owner)
            .key("tool")
            .string_lossy(artifact.tool);
        writer.key("call_id")
            .string_lossy(artifact.call_id)
            .key("created_at")
            .string(to_rfc3339(artifact.created_at));
    }
    writer.key("expires_at").string(to_rfc3339(artifact.expires_at)).end_object();
}

ToolResult to_reference(const Artifact& artifact) {
    ToolResult result{.kind = ContentKind::kJson,
                      .content = R"({"artifact":)",
                      .content_type = std::string(kReferenceType),
                      .logs = {},
                      .usage = {}};
    append_artifact(result.content, artifact, false);
    result.content += '}';
    return result;
}

bool is_reference(const ToolResult& result) {
    return result.kind == ContentKind::kJson && result.content_type == kReferenceType;
}

}  // namespace crab::core
