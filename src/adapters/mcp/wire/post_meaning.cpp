#include "adapters/mcp/wire/post_meaning.hpp"

#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <string>

namespace crab::mcp {
namespace {

PostReading refuse(int status, std::int64_t code, std::string why) {
    return {.meaning = PostMeaning::kRefused,
            .http_status = status,
            .error = {.code = code, .message = std::move(why), .data = {}}};
}

PostReading refuse_version(std::string_view requested, const RevisionSet& enabled) {
    PostReading reading =
        refuse(400, rpc_code::kUnsupportedVersion,
               "this protocol version is not spoken here: use one of `supported`");
    json::Writer writer(reading.error.data);
    writer.begin_object().key("supported").raw(enabled.to_json());
    writer.key("requested").string_lossy(requested).end_object();
    return reading;
}

}  // namespace

PostReading meaning_of(const PostContext& context, const RevisionSet& enabled) {
    if (context.meta_names_version) return {.meaning = PostMeaning::kModern};
    const auto header =
        context.version_header ? std::optional(trim(*context.version_header)) : std::nullopt;
    const auto named = header ? find_revision(*header) : std::nullopt;
    if (named && era_of(*named) == Era::kModern)
        return refuse(400, rpc_code::kInvalidParams,
                      "a request of this version needs protocolVersion in `_meta`");
    switch (context.session) {
        case NamedSession::kUnknown:
            return refuse(404, rpc_code::kInvalidRequest,
                          "there is no such session: open a new one with `initialize`");
        case NamedSession::kLive:
            if (header && named != context.session_revision)
                return refuse(400, rpc_code::kInvalidRequest,
                              "header MCP-Protocol-Version is not that of the session");
            return {.meaning = PostMeaning::kOfSession};
        case NamedSession::kNone: break;
    }
    if (context.is_initialize) return {.meaning = PostMeaning::kOpening};
    if (header && !(named && enabled.contains(*named))) return refuse_version(*header, enabled);
    return refuse(400, rpc_code::kInvalidRequest,
                  "no session: open one with `initialize`, or name protocolVersion in `_meta`");
}

}  // namespace crab::mcp
