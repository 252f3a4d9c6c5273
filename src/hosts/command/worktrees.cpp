#include "hosts/command/worktrees.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::command {

Result<std::vector<Worktree>> hold_worktrees(std::vector<Worktree> configured,
                                             const ProtectedFiles& own,
                                             const ProtectedFiles& relied_on) {
    const auto refused = [](const Worktree& worktree, std::string_view why) {
        return fail(ErrorCode::kInvalidArgs, fmt::format("worktrees: {}: {}", worktree.id, why));
    };
    for (Worktree& worktree : configured) {
        auto folder = FileHandle::open_folder(worktree.path);
        if (!folder)
            return refused(
                worktree, fmt::format("{} is not a folder; make it first", worktree.path.string()));
        worktree.folder = std::move(*folder);
        worktree.path = worktree.folder.place();
        if (worktree.max_bytes > 0 && !worktree.read_only)
            worktree.quota = std::make_shared<DiskQuota>(worktree.folder.fd(), worktree.max_bytes);
        if (const auto met = own.met_by(worktree.folder)) {
            return refused(
                worktree, fmt::format("{} and {}, which is crab's own, may not contain each other: "
                                      "a command could read or replace it; move one of them",
                                      worktree.path.string(), met->string()));
        }
        if (const auto met =
                worktree.read_only ? std::nullopt : relied_on.met_by(worktree.folder)) {
            return refused(worktree, fmt::format("{} contains {}, which crab runs or trusts: a "
                                                 "command could replace it; move one of them",
                                                 worktree.path.string(), met->string()));
        }
        if (const auto met = own.linked_in(worktree.folder)) {
            return refused(worktree,
                           fmt::format("{} holds a hard link of {}, which is crab's own; remove it",
                                       worktree.path.string(), met->string()));
        }
    }
    for (auto one = configured.begin(); one != configured.end(); ++one) {
        for (auto other = std::next(one); other != configured.end(); ++other) {
            if (!overlap(one->folder, other->folder)) continue;
            return refused(*other, fmt::format("{} overlaps {} of {}; a command in one could turn "
                                               "the other into something else, so keep them apart",
                                               other->path.string(), one->path.string(), one->id));
        }
    }
    return configured;
}

const Worktree* Worktrees::find(std::string_view agent, std::string_view principal,
                                std::string_view provider_default) const {
    std::string id(provider_default);
    {
        const std::scoped_lock lock(mutex_);
        const auto of_agent = bindings_.agents.find(agent);
        const auto of_principal = bindings_.principals.find(principal);
        if (!agent.empty() && of_agent != bindings_.agents.end())
            id = of_agent->second;
        else if (of_principal != bindings_.principals.end())
            id = of_principal->second;
    }
    return find(id);
}

Worktrees::Bindings Worktrees::bindings() const {
    const std::scoped_lock lock(mutex_);
    return bindings_;
}

void Worktrees::set_bindings(Bindings bindings) {
    const std::scoped_lock lock(mutex_);
    bindings_ = std::move(bindings);
}

}  // namespace crab::command
