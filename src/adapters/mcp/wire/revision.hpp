#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The published revisions of MCP, oldest first, so that `<` means older.
/// Source: docs/protocols/mcp.md, section 1.
enum class Revision : std::uint8_t {
    k2024_11_05,
    k2025_03_26,
    k2025_06_18,
    k2025_11_25,
    k2026_07_28
};
inline constexpr std::size_t kRevisions = 5;

/// Legacy: opened by `initialize`. Modern: every request stands for itself.
enum class Era : std::uint8_t { kLegacy, kModern };

/// Which values of `structuredContent`, and which roots of `outputSchema`, a revision has.
enum class Structured : std::uint8_t { kNone, kObject, kAny };

/// What a revision has: the table of section 1, a row for each member. Whoever must tell revisions
/// apart asks for a feature here, so that the table is written once.
struct Features {
    bool session = true;            ///< `initialize`, session id, GET, DELETE, resuming
    bool streamable_http = true;    ///< one endpoint; else HTTP+SSE with two
    bool batches = false;
    bool version_header = true;     ///< `MCP-Protocol-Version`
    bool request_headers = false;   ///< `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`
    bool asks_in_requests = true;   ///< sampling, roots, elicitation as requests; else MRTR
    bool form_elicitation = true;
    bool url_elicitation = true;
    bool session_methods = true;    ///< `ping`, `logging/setLevel`, `resources/(un)subscribe`
    bool listen = false;            ///< `subscriptions/listen`
    bool own_tasks = false;         ///< the experimental tasks of 2025-11-25
    bool tasks_extension = false;
    bool close_cancels = false;     ///< over HTTP; else `notifications/cancelled`
    bool primes_streams = false;    ///< a POST stream begins with an event that has only an id
    bool result_type = false;  ///< `resultType`, and `serverInfo` in `_meta`, of every result
    bool cache_hints = false;  ///< `ttlMs`, `cacheScope` of six results
    bool audio = true;
    bool resource_links = true;
    Structured structured = Structured::kObject;
    bool annotations = true;  ///< of tools
    bool titles = true;
    bool object_meta = true;  ///< `_meta` of tools, resources, prompts and content blocks
    bool icons = true;
    bool last_modified = true;  ///< in annotations of content
    bool completions = true;  ///< the capability; and `message` of progress
    bool completion_context = true;
    std::int64_t resource_not_found = -32002;
};

inline constexpr std::array<Features, kRevisions> kFeatures = [] {
    std::array<Features, kRevisions> table{};
    auto& [l24, l03, l06, l11, modern] = table;
    l24 = {.streamable_http = false,
           .version_header = false,
           .form_elicitation = false,
           .url_elicitation = false,
           .audio = false,
           .resource_links = false,
           .structured = Structured::kNone,
           .annotations = false,
           .titles = false,
           .object_meta = false,
           .icons = false,
           .last_modified = false,
           .completions = false,
           .completion_context = false};
    l03 = {.batches = true,
           .version_header = false,
           .form_elicitation = false,
           .url_elicitation = false,
           .resource_links = false,
           .structured = Structured::kNone,
           .titles = false,
           .object_meta = false,
           .icons = false,
           .last_modified = false,
           .completion_context = false};
    l06 = {.url_elicitation = false, .icons = false};
    l11 = {.own_tasks = true, .primes_streams = true};
    modern = {.session = false,
              .request_headers = true,
              .asks_in_requests = false,
              .session_methods = false,
              .listen = true,
              .tasks_extension = true,
              .close_cancels = true,
              .result_type = true,
              .cache_hints = true,
              .structured = Structured::kAny,
              .resource_not_found = -32602};
    return table;
}();

constexpr const Features& features_of(Revision revision) {
    return kFeatures[static_cast<std::size_t>(revision)];
}
constexpr Era era_of(Revision revision) {
    return features_of(revision).session ? Era::kLegacy : Era::kModern;
}

/// `2025-11-25`
std::string_view name_of(Revision revision);
std::string_view name_of(Era era);  ///< `legacy`, `modern`
/// Nothing for a version that was never published.
std::optional<Revision> find_revision(std::string_view name);

/// The revisions that a gateway speaks (`mcp.versions`), and what follows for openings.
class RevisionSet {
public:
    /// All five.
    RevisionSet() = default;
    explicit RevisionSet(std::span<const Revision> enabled);

    bool contains(Revision revision) const {
        return (bits_ >> static_cast<unsigned>(revision)) & 1U;
    }
    /// Of those of an era; nothing when none is enabled.
    std::optional<Revision> newest(Era era) const;
    /// The answer to `initialize`: the requested version if it is enabled and legacy, else the
    /// newest enabled legacy one (section 2.4); nothing when there is none.
    std::optional<Revision> negotiate(std::string_view requested) const;
    /// Of what another side says it speaks the newest that is enabled here (section 2.8).
    std::optional<Revision> newest_common(std::span<const std::string_view> theirs) const;
    /// A JSON array of all enabled versions, newest first: `supported`, `supportedVersions`.
    std::string to_json() const;

private:
    std::uint8_t bits_ = (1U << kRevisions) - 1;
};

}  // namespace crab::mcp
