#include "hosting/server_files.hpp"

#include "base/process/child.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosts/command/protected_files.hpp"

#include <filesystem>
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

Paths named(std::initializer_list<fs::path> files) {
    Paths given;
    for (const fs::path& file : files)
        if (!file.empty()) given.push_back(fs::absolute(file));
    return given;
}

struct HeldWorktree {
    const config::WorktreeOptions& options;
    FileHandle folder;
};

std::vector<HeldWorktree> held(const config::GatewayConfig& config) {
    const fs::path from = folder_of(config);
    std::vector<HeldWorktree> all;
    for (const config::WorktreeOptions& worktree : config.worktrees) {
        // one that is not there is refused where worktrees are made
        if (auto folder = FileHandle::open_folder(from / worktree.path))
            all.push_back({worktree, std::move(*folder)});
    }
    return all;
}

Result<void> refused(const HeldWorktree& worktree, const fs::path& file, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("{} and the worktree {} overlap: {}; move one",
                                                     file.string(), worktree.options.id, why));
}

/// The root of a worktree is no name in it, so a command cannot make it another folder.
Result<void> check_shown(const HeldWorktree& worktree, const Paths& shown, bool changes) {
    for (const fs::path& path : shown) {
        const auto file = FileHandle::open(path);
        if (!file || file->identity() == worktree.folder.identity()) continue;
        if (!changes && worktree.options.read_only) continue;
        if (overlap(*file, worktree.folder))
            return refused(worktree, path, "one could turn the other into something else");
    }
    return {};
}

}  // namespace

Result<void> check_apart_from_worktrees(const config::GatewayConfig& config,
                                        const config::McpServerOptions& server) {
    if (config.worktrees.empty()) return {};
    const ProtectedFiles secret(named({server.tls.key}));
    const ProtectedFiles trusted(named({server.tls.ca, server.tls.cert}));
    const ProtectedFiles run(server.sandbox ? Paths() : program_files(server));
    for (const HeldWorktree& worktree : held(config)) {
        if (const auto met = secret.met_by(worktree.folder))
            return refused(worktree, *met, "a command could read it");
        for (const ProtectedFiles* const files : {&trusted, &run}) {
            const auto met =
                worktree.options.read_only ? std::nullopt : files->met_by(worktree.folder);
            if (met) return refused(worktree, *met, "a command could replace it");
        }
        if (!server.sandbox) continue;
        if (auto apart = check_shown(worktree, server.sandbox->read, false); !apart) return apart;
        if (auto apart = check_shown(worktree, server.sandbox->write, true); !apart) return apart;
    }
    return {};
}

}  // namespace crab::hosting
