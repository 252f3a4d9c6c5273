#pragma once

#include "base/result.hpp"
#include "config/mcp_options.hpp"
#include "config/paths.hpp"
#include "json/value.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace crab::setup {

/// An MCP server that was added while the gateway runs.
struct AddedMcpServer {
    json::Value given;   ///< as under `mcp.servers`, with references in the place of secrets
    std::string origin;  ///< who added it, such as `crab mcp add`; display, and to undo an import
    Result<config::McpServerOptions> read;  ///< or why it cannot be used
};
using AddedMcpServers = std::map<std::string, AddedMcpServer, std::less<>>;

/// The MCP servers that were added while the gateway runs: `mcp_servers.json` in the state folder,
/// which only the gateway writes. Values of `auth.headers`, the client's secret, and values of
/// `env` and `args` whose names say so (of an import all of `env`) are kept apart, one file each
/// below `mcp_secrets`, and referred to by `${file:…}`. Not thread-safe; everything blocks.
class McpServersFile {
public:
    /// Reads the file, if there is one. Errors: kUnavailable when it cannot be read, kInternal when
    /// it is not such a file. A server that does not read is listed with the reason.
    static Result<McpServersFile> open(const std::filesystem::path& state_dir,
                                       config::Environment environment);

    const AddedMcpServers& servers() const { return servers_; }
    /// Asked before a server is stored; its error is why this machine cannot run it.
    using Usable = std::function<Result<void>(const config::McpServerOptions&)>;
    /// Adds a server, or puts it in the place of one; durable when it returns. Errors: kInvalidArgs
    /// with all that is wrong with it, and for an import with references to the gateway's files or
    /// variables; kUnavailable when it cannot be written; those of `usable`.
    Result<void> put(std::string_view name, json::Value server, std::string_view origin,
                     const Usable& usable = {});
    /// Removes a server and its secrets. Errors: kNotFound, kUnavailable.
    Result<void> remove(std::string_view name);

private:
    McpServersFile(std::filesystem::path state_dir, config::Environment environment)
        : state_dir_(std::move(state_dir)), environment_(std::move(environment)) {}

    std::filesystem::path file() const { return state_dir_ / "mcp_servers.json"; }
    std::filesystem::path secrets_of(std::string_view name) const {
        return state_dir_ / "mcp_secrets" / name;
    }
    Result<config::McpServerOptions> read(std::string_view name, const json::Value& server) const;
    /// Of one server that is stored.
    struct Secrets {
        bool imported = false;  ///< from a file of somebody else: all its variables are secrets
        std::set<std::string> files;
    };
    Result<void> move_secrets(std::string_view name, json::Value& server, Secrets& kept) const;
    void drop_old_secrets(std::string_view name, const std::set<std::string>& kept) const;
    Result<void> store() const;

    std::filesystem::path state_dir_;
    config::Environment environment_;
    AddedMcpServers servers_;
};

/// Whether an environment variable of this name holds a secret, as far as names tell.
bool names_a_secret(std::string_view variable);

}  // namespace crab::setup
