#include "gateway/hosts/command_providers.hpp"

#include "gateway/context/service_options.hpp"
#include "hosts/command/worktree_file.hpp"

#include <fmt/format.h>

namespace crab::gateway {

std::span<const ConfigKey> CommandProviders::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("worktrees", [](auto& c) -> auto& { return c.worktrees; }),
        restart_key("worktree_service", [](auto& c) -> auto& { return c.worktree_service; }),
        restart_key("providers", [](auto& c) -> auto& { return c.providers; }),
        restart_key("secrets", [](auto& c) -> auto& { return c.secrets; })};
    return kKeys;
}

std::vector<std::filesystem::path> CommandProviders::own_folders() const {
    return {context_.paths.state_dir, context_.paths.admin_socket.parent_path()};
}

Result<Component::Change> CommandProviders::prepare(const config::GatewayConfig& next) {
    config::GatewayConfig asked = next;
    asked.worktrees = context_.config.worktrees;  // others count from the next start on
    if (auto apart = hosting::make_worktrees(asked, own_folders()); !apart)
        return fail(std::move(apart.error()));
    return Change([this, asked = std::move(asked)] {
        if (commands_) commands_->protect(asked);
    });
}

Result<void> CommandProviders::start() {
    const config::GatewayConfig& config = context_.config;
    auto made = hosting::make_worktrees(config, own_folders());
    if (!made) return fail(std::move(made.error()));
    worktrees_ = std::move(*made);
    auto bindings = command::load_bindings(bindings_file());
    if (!bindings) return fail(std::move(bindings.error()));
    worktrees_->set_bindings(std::move(*bindings));
    api_ = std::make_unique<admin::WorktreesApi>(worktrees_, bindings_file(), workers_.pool());
    if (!hosting::has_commands(config)) return {};
    auto bound_worktree = ask_worktree_service();
    if (!bound_worktree) return fail(std::move(bound_worktree.error()));
    auto opened = hosting::HostedCommands::open(config, worktrees_, loops_.first(), audit_.log(),
                                                own_folders(), std::move(*bound_worktree));
    if (!opened) return fail(std::move(opened.error()));
    commands_ = std::move(*opened);
    return commands_->register_in(context_.registry);
}

Result<command::CommandServices::BoundWorktree> CommandProviders::ask_worktree_service() {
    if (!context_.config.worktree_service) return command::CommandServices::BoundWorktree();
    auto service = service_options(*context_.config.worktree_service, workers_.names());
    if (!service)
        return fail(service.error().code,
                    fmt::format("worktree_service: {}", service.error().message));
    worktree_service_ = std::make_unique<WorktreeServiceClient>(loops_.group(), *service);
    return [client = worktree_service_.get()](std::string agent, std::string call) {
        return client->bound_worktree(std::move(agent), std::move(call));
    };
}

void CommandProviders::begin() {
    if (commands_) loops_.first().post([this] { commands_->start(); });
}

void CommandProviders::stop(Deadline deadline) {
    loops_.run();
    if (worktree_service_) worktree_service_->stop();
    if (!commands_) return;
    loops_.finish(loops_.first(), deadline,
                  [this](std::function<void()> done) { commands_->stop(std::move(done)); });
}

void CommandProviders::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) api_->add_routes(table.routes);
}

}  // namespace crab::gateway
