#include "hosting/server_files.hpp"

#include "base/process/child.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosts/command/protected_files.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::hosting {
namespace {

namespace fs = std::filesystem;
using command::FileHandle;
using command::ProtectedFiles;
using Paths = std::vector<fs::path>;

/// What decides what the server does, where no sandbox holds it.
Paths program_files(const config::McpServerOptions& server) {
    Paths files;
    if (server.command.empty()) return files;
    std::error_code error;
    const fs::path program = find_program(server.command);
    if (!program.empty()) files.push_back(fs::absolute(program));
    const fs::path folder = server.cwd.empty() ? fs::current_path(error) : server.cwd;
    if (!server.cwd.empty()) files.push_back(server.cwd);
    for (const std::string& word : server.args) {
        const fs::path file = folder / word;
        if (!word.empty() && fs::is_regular_file(file, error)) files.push_back(file);
    }
    return files;
}

/// Something that a command or another server's program works in, with its operator's word for it.
struct WorkFolder {
    std::string name;
    FileHandle folder;
    bool writable;
    std::string_view server;  ///< whose sandbox shows it; empty: a worktree
};

/// One that is not there is refused where it is used.
void add_folder(std::vector<WorkFolder>& all, const std::string& name, const fs::path& path,
                bool writable, std::string_view server = {}) {
    if (auto folder = FileHandle::open_folder(path))
        all.push_back({name, std::move(*folder), writable, server});
}

void add_worktrees(std::vector<WorkFolder>& all, const config::GatewayConfig& config) {
    for (const config::WorktreeOptions& tree : config.worktrees)
        add_folder(all, "the worktree " + tree.id, folder_of(config) / tree.path, !tree.read_only);
}

void add_sandbox(std::vector<WorkFolder>& all, std::string_view source,
                 const config::McpServerOptions& server) {
    if (!server.sandbox) return;
    const std::string name = fmt::format("what mcp.servers.{}.sandbox shows", source);
    for (const fs::path& path : server.sandbox->read) add_folder(all, name, path, false, source);
    for (const fs::path& path : server.sandbox->write) add_folder(all, name, path, true, source);
}

Result<void> refused(const WorkFolder& met, const fs::path& file, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("{} and {} overlap: {}; move one", file.string(), met.name, why));
}

/// The root of a folder is no name in it, so nothing in it can make it another folder.
Result<void> check_shown(const WorkFolder& other, const Paths& shown, bool changes) {
    for (const fs::path& path : shown) {
        const auto file = FileHandle::open(path);
        if (!file || file->identity() == other.folder.identity()) continue;
        if ((changes || other.writable) && overlap(*file, other.folder))
            return refused(other, path, "one could turn the other into something else");
    }
    return {};
}

/// Whether what works in `others`, but for its own, can do nothing to the server, and its sandbox
/// nothing to them.
Result<void> check_apart(std::string_view source, const config::McpServerOptions& server,
                         const std::vector<WorkFolder>& others, const fs::path& from) {
    if (others.empty()) return {};
    const auto named = [&from](std::initializer_list<fs::path> files) {
        Paths given;
        for (const fs::path& file : files)
            if (!file.empty()) given.push_back(from / file);
        return ProtectedFiles(given);
    };
    const ProtectedFiles secret = named({server.tls.key});
    const ProtectedFiles trusted = named({server.tls.ca, server.tls.cert});
    const ProtectedFiles run(server.sandbox ? Paths() : program_files(server));
    for (const WorkFolder& other : others) {
        if (other.server == source) continue;
        if (const auto met = secret.met_by(other.folder))
            return refused(other, *met, "its key could be read");
        for (const ProtectedFiles* const files : {&trusted, &run}) {
            const auto met = other.writable ? files->met_by(other.folder) : std::nullopt;
            if (met) return refused(other, *met, "it could be replaced");
        }
        if (!server.sandbox) continue;
        if (auto apart = check_shown(other, server.sandbox->read, false); !apart) return apart;
        if (auto apart = check_shown(other, server.sandbox->write, true); !apart) return apart;
    }
    return {};
}

}  // namespace

Result<void> check_apart_from_others(const config::GatewayConfig& config,
                                     const config::McpServers& servers, std::string_view source,
                                     const config::McpServerOptions& server) {
    const fs::path from = folder_of(config);
    std::vector<WorkFolder> others;
    std::vector<WorkFolder> own;
    add_worktrees(others, config);
    add_sandbox(own, source, server);
    for (const auto& [name, other] : servers) {
        if (name == source || !other.enabled) continue;
        add_sandbox(others, name, other);
        if (auto apart = check_apart(name, other, own, from); !apart)
            return fail(apart.error().code,
                        fmt::format("mcp.servers.{}: {}", name, apart.error().message));
    }
    return check_apart(source, server, others, from);
}

std::map<std::string, Error> find_not_apart(const config::GatewayConfig& config,
                                            const config::McpServers& servers) {
    const fs::path from = folder_of(config);
    std::vector<WorkFolder> all;
    add_worktrees(all, config);
    for (const auto& [name, server] : servers)
        if (server.enabled) add_sandbox(all, name, server);
    std::map<std::string, Error> found;
    for (const auto& [name, server] : servers) {
        if (!server.enabled) continue;
        if (auto apart = check_apart(name, server, all, from); !apart)
            found.emplace(name, std::move(apart.error()));
    }
    return found;
}

}  // namespace crab::hosting
