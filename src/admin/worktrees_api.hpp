#pragma once

#include "base/ordered_mutex.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "hosts/command/worktrees.hpp"
#include "net/http/routes.hpp"

#include <filesystem>
#include <memory>

namespace crab::admin {

/// Worktrees on the admin socket: `GET /v1/admin/worktrees` returns {`worktrees`, `bindings`};
/// `POST /v1/admin/worktrees/bind?who&worktree` and `POST /v1/admin/worktrees/unbind?who` change a
/// binding, durably before the answer. Used on one loop; the pool must be destroyed first.
class WorktreesApi {
public:
    WorktreesApi(std::shared_ptr<command::Worktrees> worktrees, std::filesystem::path file,
                 BlockingPool& pool)
        : worktrees_(std::move(worktrees)), file_(std::move(file)), pool_(pool) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void list(net::HttpExchange& exchange) const;
    Task<void> change(net::HttpExchange& exchange, bool bind);

    std::shared_ptr<command::Worktrees> worktrees_;
    std::filesystem::path file_;
    BlockingPool& pool_;
    OrderedMutex<LockRank::kWorktreesFile> file_mutex_;
};

}  // namespace crab::admin
