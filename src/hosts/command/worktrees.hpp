#pragma once

#include "hosts/command/disk_quota.hpp"
#include "hosts/command/protected_files.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::command {

/// A folder that tools work in, `<repo>/<worktree>`.
struct Worktree {
    std::string id;
    std::filesystem::path path;   ///< absolute
    bool read_only = false;
    FileHandle folder{};  ///< the folder at `path`, held open; set by hold_worktrees()
    std::uint64_t max_bytes = 0;  ///< size limit; 0: none
    std::shared_ptr<DiskQuota> quota{};  ///< of `max_bytes`; set by hold_worktrees()
};

/// Opens the configured worktrees. Commands can replace their contents, including links and
/// folders, so worktrees must not overlap each other or crab's own files; writable ones must not
/// contain files that crab relies on, such as programs that it starts and certificates. Errors:
/// kInvalidArgs naming the worktree, or both. Blocks. Source: docs/protocols/sw4rm.md, section 8.
Result<std::vector<Worktree>> hold_worktrees(std::vector<Worktree> configured,
                                             const ProtectedFiles& own,
                                             const ProtectedFiles& relied_on = {});

/// The configured worktrees and their bindings. Thread-safe. Source: docs/protocols/sw4rm.md,
/// section 8.
class Worktrees {
public:
    explicit Worktrees(std::vector<Worktree> configured) {
        for (Worktree& worktree : configured) known_.emplace(worktree.id, std::move(worktree));
    }

    const Worktree* find(std::string_view id) const {
        const auto found = known_.find(id);
        return found == known_.end() ? nullptr : &found->second;
    }
    /// The worktree of a call: the binding of its agent (if not empty), else of its principal, else
    /// the provider's default; nullptr: none.
    const Worktree* find(std::string_view agent, std::string_view principal,
                         std::string_view provider_default) const;

    std::vector<Worktree> all() const {
        std::vector<Worktree> worktrees;
        for (const auto& [id, worktree] : known_) worktrees.push_back(worktree);
        return worktrees;
    }

    /// Worktree ids by principal and by agent. Separate maps, because callers can choose agent
    /// names.
    struct Bindings {
        std::map<std::string, std::string, std::less<>> principals, agents;

        /// The map for `who`: a principal's id has a slash, `caller/ci`, an agent's name has none.
        auto& map_of(std::string_view who) { return who.contains('/') ? principals : agents; }
        std::size_t size() const { return principals.size() + agents.size(); }
        friend bool operator==(const Bindings&, const Bindings&) = default;
    };
    Bindings bindings() const;
    void set_bindings(Bindings bindings);

private:
    std::map<std::string, Worktree, std::less<>> known_;
    mutable std::mutex mutex_;
    Bindings bindings_;
};

}  // namespace crab::command
