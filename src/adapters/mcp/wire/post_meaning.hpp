#pragma once

#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

/// What a POST to the endpoint is: the era table of docs/protocols/mcp.md, section 2.2.
namespace crab::mcp {

/// The session that a POST's `Mcp-Session-Id` names, as the sessions know it.
enum class NamedSession : std::uint8_t {
    kNone,     ///< no such header
    kLive,     ///< one of this principal
    kUnknown,  ///< unknown, ended, or another principal's
};

struct PostContext {
    bool meta_names_version = false;  ///< RequestMeta::names_version; false for batches
    bool is_initialize = false;
    std::optional<std::string_view> version_header;
    NamedSession session = NamedSession::kNone;
    Revision session_revision = Revision::k2025_11_25;  ///< of a live session
};

enum class PostMeaning : std::uint8_t {
    kModern,      ///< whatever its method
    kOpening,     ///< `initialize`, which opens a session
    kOfSession,   ///< of the live session
    kRefused,
};
struct PostReading {
    PostMeaning meaning = PostMeaning::kRefused;
    int http_status = 200;  ///< of a refusal
    RpcError error{};       ///< of a refusal
};

PostReading meaning_of(const PostContext& context, const RevisionSet& enabled);

}  // namespace crab::mcp
