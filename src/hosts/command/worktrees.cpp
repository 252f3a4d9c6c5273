#include "hosts/command/worktrees.hpp"

#include <utility>

namespace crab::command {

const Worktree* Worktrees::find(std::string_view agent, std::string_view principal, std::string_view provider_default) const {
    std::string id(provider_default);
    {
        const std::scoped_lock lock(mutex_);
        for (const std::string_view who : {agent, principal}) {
            const auto bound = who.empty() ? bindings_.end() : bindings_.find(who);
            if (bound == bindings_.end()) continue;
            id = bound->second;
            break;
        }
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
