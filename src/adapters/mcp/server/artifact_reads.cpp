#include "adapters/mcp/server/artifact_reads.hpp"

#include "adapters/mcp/wire/message_reader.hpp"
#include "base/encoding.hpp"
#include "json/writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

bool is_text(std::string_view media_type) {
    return media_type.starts_with("text/") || media_type.starts_with("application/json") ||
           media_type.ends_with("+json");
}

std::string contents_of(const core::Artifact& artifact, std::string_view uri,
                        std::string_view bytes) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("contents").begin_array().begin_object().key("uri").string(uri);
    if (!artifact.content_type.empty()) writer.key("mimeType").string_lossy(artifact.content_type);
    if (is_text(artifact.content_type)) {
        writer.key("text").string_lossy(bytes);
    } else {
        writer.key("blob").string(
            to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
    }
    writer.end_object().end_array().end_object();
    return out;
}

Error unknown() {
    return {.code = ErrorCode::kNotFound,
            .message = "there is no such artifact, or it has expired"};
}

}  // namespace

Task<Result<std::string>> ArtifactReads::read(std::string id, std::string uri,
                                              core::PrincipalRef principal) const {
    if (store == nullptr) co_return std::unexpected(unknown());
    auto work = [store = store, id, uri, principal]() -> Result<std::string> {
        auto opened = store->open(id);
        if (!opened) return std::unexpected(std::move(opened.error()));
        const core::Artifact& artifact = (*opened)->artifact();
        if (!core::may_read(*principal, artifact)) return std::unexpected(unknown());
        if (artifact.bytes > kMaxReply / 2)
            return fail(ErrorCode::kOversize,
                        fmt::format("it has {} bytes, too many for a message: fetch "
                                    "/v1/artifacts/{} of this gateway",
                                    artifact.bytes, id));
        const auto bytes = (*opened)->read(0, static_cast<std::size_t>(artifact.bytes));
        if (!bytes) return std::unexpected(bytes.error());
        return contents_of(artifact, uri, *bytes);
    };
    co_return co_await pool->run(principal->id, std::move(work));
}

}  // namespace crab::mcp
