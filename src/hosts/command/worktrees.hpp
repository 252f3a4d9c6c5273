#pragma once

#include <filesystem>
#include <map>
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
};

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
    /// The worktree of a call: what is bound to the agent, else to the principal, else the provider's own; nullptr: none.
    const Worktree* find(std::string_view agent, std::string_view principal, std::string_view provider_default) const;

    std::vector<Worktree> all() const {
        std::vector<Worktree> worktrees;
        for (const auto& [id, worktree] : known_) worktrees.push_back(worktree);
        return worktrees;
    }

    using Bindings = std::map<std::string, std::string, std::less<>>;   ///< principal or agent → worktree id
    Bindings bindings() const;
    void set_bindings(Bindings bindings);

private:
    std::map<std::string, Worktree, std::less<>> known_;
    mutable std::mutex mutex_;
    Bindings bindings_;
};

}  // namespace crab::command
