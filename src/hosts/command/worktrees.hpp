#pragma once

#include "hosts/command/disk_quota.hpp"
#include "hosts/command/own_files.hpp"

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
    HeldFile folder{};  ///< what is at `path`, held from the start; set by hold_worktrees()
    std::uint64_t max_bytes = 0;  ///< what it may hold; 0: whatever the disk takes
    std::shared_ptr<DiskQuota> quota{};  ///< of `max_bytes`; set by hold_worktrees()
};

/// Opens the folders of the configured worktrees. Commands change what they contain, links and
/// folders included, so none may contain another or anything of crab, nor lie in a folder of crab:
/// what is bound next would be what a command made of it. Those that commands write may not contain
/// what crab relies on, either: programs that it starts, certificates.
/// Errors: kInvalidArgs that names the worktree, or both. Blocks. Source: docs/protocols/sw4rm.md,
/// section 8.
Result<std::vector<Worktree>> hold_worktrees(std::vector<Worktree> configured, const OwnFiles& own,
                                             const OwnFiles& relied_on = {});

/// The configured worktrees, and which of them is bound to whom. Thread-safe.
/// Source: docs/protocols/sw4rm.md, section 8.
class Worktrees {
public:
    explicit Worktrees(std::vector<Worktree> configured) {
        for (Worktree& worktree : configured) known_.emplace(worktree.id, std::move(worktree));
    }

    const Worktree* find(std::string_view id) const {
        const auto found = known_.find(id);
        return found == known_.end() ? nullptr : &found->second;
    }
    /// The worktree of a call: what is bound to the agent that it acts for (empty: none), else to
    /// the principal, else the provider's own; nullptr: none.
    const Worktree* find(std::string_view agent, std::string_view principal,
                         std::string_view provider_default) const;

    std::vector<Worktree> all() const {
        std::vector<Worktree> worktrees;
        for (const auto& [id, worktree] : known_) worktrees.push_back(worktree);
        return worktrees;
    }

    /// Worktree ids by who works there. Principals and agents are never keys of one map: a caller
    /// may choose the one name and not the other.
    struct Bindings {
        std::map<std::string, std::string, std::less<>> principals, agents;

        /// Where the binding of `who` belongs: a principal's id has a slash, `caller/ci`, an
        /// agent's name has none.
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
