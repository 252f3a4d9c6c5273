#pragma once

#include "adapters/mcp/wire/revision.hpp"
#include "base/clock.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Result objects in the form of the client's revision, and of an upstream's in the core's form.
/// Objects given are JSON that a parser has accepted; what is not named here passes as it came.
/// Source: docs/protocols/mcp.md, sections 3.1, 4.3, 4.5, 5.
namespace crab::mcp {

/// Content type of a result of kind kJson that is an upstream's result object (section 7.1).
inline constexpr std::string_view kMcpResultType = "application/vnd.mcp.result+json";

inline constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";

/// What a result has beside its own members. In the object given, `resultType`, `ttlMs`,
/// `cacheScope` and the server's identity in `_meta` are the sender's and are replaced or left out.
struct ResultForm {
    Revision revision = Revision::k2026_07_28;
    std::string_view server_info{};  ///< of this gateway, an object; for modern `_meta` only
    std::string_view meta{};  ///< members to set in `_meta`, an object; may be empty
    std::string_view type = "complete";  ///< `resultType` where the revision has it
    /// `ttlMs` of the six results that have hints, where the revision has them; their scope is
    /// always `private`, for views differ by principal
    std::optional<Milliseconds> ttl{};
};

/// Appends any result that holds no content: of lists, `completion/complete`, `{}`, ….
void append_plain_result(std::string& out, std::string_view result, const ResultForm& form);
/// Ends an object made here, whose members are in `out` behind its brace: none that the form has
/// too. They are not read, so that a long list costs no more than its bytes.
void end_own_result(std::string& out, const ResultForm& form);
/// Appends the result of `tools/call`: its blocks by append_content(); a text block of the compact
/// `structuredContent` if there is no text; `structuredContent` where the revision has such values.
void append_call_result(std::string& out, std::string_view result, const ResultForm& form);
/// Appends a result of a call that consists of one text, and of what the text stands for, JSON,
/// where the revision has such values; empty: of the text alone.
void append_text_result(std::string& out, std::string_view text, std::string_view structured,
                        const ResultForm& form);
/// Appends the result of `prompts/get`, its messages' content by append_content().
void append_prompt_result(std::string& out, std::string_view result, const ResultForm& form);
/// Appends the result of `resources/read`.
void append_read_result(std::string& out, std::string_view result, const ResultForm& form);

/// An upstream's `tools/call` result as the pipeline keeps it: without `_meta` and `resultType`.
std::string core_result(std::string_view result);
/// `resultType`; `complete` when there is none. Nothing when it is no string.
std::optional<std::string> result_type(std::string_view result);
/// Whether a `tools/call` result says `isError`.
bool is_error_result(std::string_view result);
/// The text of the first text block; empty when there is none.
std::string first_text(std::string_view result);

}  // namespace crab::mcp
