#pragma once

#include "base/result.hpp"
#include "json/value.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The files in which MCP clients keep their servers. Source: docs/protocols/mcp.md, section 9.
namespace crab::cli {

enum class ClientKind : std::uint8_t {
    kClaudeDesktop,
    kClaudeCode,
    kCursor,
    kVsCode,
    kWindsurf,
    kZed,
    kGemini,
    kCodex,
    kOpencode
};

std::optional<ClientKind> find_client(std::string_view name);  ///< `claude-desktop`
std::vector<std::string> all_client_names();
std::string client_names();  ///< for people
/// Where such a client keeps its file, the nearest first.
std::vector<std::filesystem::path> files_of(ClientKind client, const std::filesystem::path& here,
                                            const std::filesystem::path& home);

/// What references in such a file stand for.
struct ImportContext {
    std::function<std::optional<std::string>(std::string_view name)> environment;
    /// The value of an input that the file declares; nothing: the person has none.
    std::function<std::optional<std::string>(std::string_view id, std::string_view about)> ask;
    /// Reads a file of variables; a relative path starts at the workspace.
    std::function<Result<std::string>(const std::filesystem::path& path)> read_file;
    std::filesystem::path workspace, home;
};

struct ImportedServer {
    std::string name;       ///< a key of `mcp.servers`
    std::string in_file;    ///< its name there
    json::Value server;     ///< as under `mcp.servers`
    std::vector<std::string> notes;  ///< what is not taken over, and why
    /// Which variables and inputs of this machine go where: `Authorization: $GITHUB_TOKEN`
    std::vector<std::string> uses;
};

/// The servers of a client's file; its kind is told by its root if it is not known.
/// Errors: kInvalidArgs when it cannot be read or holds no servers.
Result<std::vector<ImportedServer>> read_client_file(std::optional<ClientKind> client,
                                                     std::string_view text,
                                                     const ImportContext& context);

/// How a client reaches this gateway: by a URL, or by starting a program.
struct GatewayEntry {
    std::string url;  ///< empty: `argv`
    std::vector<std::string> argv;
};
/// Stands in an entry where a person has to write a token, for the client reads it from nowhere.
inline constexpr std::string_view kTokenToFillIn = "<token>";
/// The text of the client's file with the entry `crab` in it; `before` may be empty.
/// Errors: kInvalidArgs when `before` cannot be read, or the client has no such form.
Result<std::string> with_gateway(ClientKind client, std::string_view before,
                                 const GatewayEntry& entry);

/// `text` without the byte order mark that editors of Windows begin files with.
std::string_view without_mark(std::string_view text);
/// JSON without comments, trailing commas and that mark, which editors allow.
std::string without_comments(std::string_view text);
/// The part of TOML that such files use: tables, strings, numbers, lists, inline tables.
/// Errors: kInvalidArgs, with the line.
Result<json::Value> read_toml(std::string_view text);

}  // namespace crab::cli
