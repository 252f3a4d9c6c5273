#include "gateway/mcp/mcp_server_list.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

std::unexpected<Error> is_configured(std::string_view name, const config::GatewayConfig& config) {
    return fail(ErrorCode::kConflict,
                fmt::format("{} is in the configuration, which only people change: edit "
                            "mcp.servers.{} of {}",
                            name, name, config.source.empty() ? "it" : config.source.string()));
}

/// Without its query, which may hold a key.
std::string shown_url(const std::string& url) {
    const std::size_t query = url.find('?');
    return query == std::string::npos ? url : url.substr(0, query) + "?...";
}

/// The words of a server that was added, with references in the place of secrets.
std::vector<std::string> words_of(const json::Value& server) {
    std::vector<std::string> words;
    if (const json::Value* const command = server.find("command"))
        if (command->as_string() != nullptr) words.push_back(*command->as_string());
    const json::Value* const args = server.find("args");
    if (args == nullptr || args->as_array() == nullptr) return words;
    for (const json::Value& arg : *args->as_array())
        words.push_back(arg.as_string() != nullptr ? *arg.as_string() : arg.dump());
    return words;
}

admin::KnownMcpServer shown(const std::string& name, const config::McpServerOptions& options) {
    admin::KnownMcpServer server;
    server.name = name;
    server.url = shown_url(options.url);
    if (!options.command.empty()) server.argv.push_back(options.command);
    server.argv.insert(server.argv.end(), options.args.begin(), options.args.end());
    server.enabled = options.enabled;
    return server;
}

}  // namespace

McpServerList::McpServerList(const GatewayContext& context, Workers& workers)
    : context_(context),
      workers_(workers),
      programs_(context.config, {context.paths.state_dir, context.paths.admin_socket.parent_path()},
                [] { return command::CgroupPaths::find(); }) {}

std::span<const ConfigKey> McpServerList::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("mcp.servers", [](auto& c) -> auto& { return c.mcp.servers; })};
    return kKeys;
}

Result<void> McpServerList::start() {
    auto added =
        setup::McpServersFile::open(context_.paths.state_dir, config::process_environment());
    if (!added) return fail(std::move(added.error()));
    const std::scoped_lock lock(mutex_);
    added_.emplace(std::move(*added));
    configured_ = context_.config.mcp.servers;
    for (const auto& [name, server] : added_->servers()) {
        if (!server.read)
            log::warn("an MCP server cannot be used",
                      {{"server", name}, {"reason", server.read.error().message}});
    }
    publish();
    api_ = std::make_unique<admin::McpApi>(admin::McpApi::Services{
        .configs = *this, .control = [this] { return control_.load(); }, .pool = workers_.pool()});
    return {};
}

Result<Component::Change> McpServerList::prepare(const config::GatewayConfig& next) {
    const config::McpServers all = [&] {
        const std::scoped_lock lock(mutex_);
        return with_added(next.mcp.servers);
    }();
    for (const auto& [name, server] : next.mcp.servers) {
        const auto before = configured_.find(name);
        if (!server.enabled || (before != configured_.end() && before->second == server)) continue;
        if (auto usable = programs_.check(all, name, server); !usable)
            return fail(std::move(usable.error()));
    }
    return Change([this, servers = next.mcp.servers] {
        {
            const std::scoped_lock lock(mutex_);
            if (configured_ == servers) return;
            configured_ = servers;
            publish();
        }
        changes_.notify();
    });
}

void McpServerList::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) api_->add_routes(table.routes);
}

/// The configuration wins: what it names was not added, or is no longer what counts.
config::McpServers McpServerList::with_added(config::McpServers all) const {
    for (const auto& [name, server] : added_->servers()) {
        if (server.read) all.try_emplace(name, *server.read);
    }
    return all;
}

void McpServerList::publish() {
    servers_.set(std::make_shared<config::McpServers>(with_added(configured_)));
}

std::vector<admin::KnownMcpServer> McpServerList::known() {
    const std::scoped_lock lock(mutex_);
    std::vector<admin::KnownMcpServer> all;
    for (const auto& [name, options] : configured_)
        all.emplace_back(shown(name, options)).configured = true;
    for (const auto& [name, server] : added_->servers()) {
        if (configured_.contains(name)) continue;
        all.push_back(shown(name, server.read ? *server.read : config::McpServerOptions{}));
        all.back().origin = server.origin;
        all.back().argv = words_of(server.given);
        if (!server.read) all.back().problem = server.read.error().message;
    }
    return all;
}

Result<void> McpServerList::put(std::string_view name, json::Value server, std::string_view origin,
                                Put how) {
    {
        const std::scoped_lock lock(mutex_);
        if (configured_.contains(name)) return is_configured(name, context_.config);
        const bool there = added_->servers().contains(name);
        if (there && how == Put::kNew)
            return fail(
                ErrorCode::kConflict,
                fmt::format("there is an MCP server {} already; crab mcp list shows it", name));
        if (!there && how == Put::kReplace)
            return fail(ErrorCode::kNotFound,
                        fmt::format("no MCP server {} was added; crab mcp list shows them", name));
        const auto usable = [&](const config::McpServerOptions& options) {
            return programs_.check(*servers_.get(), std::string(name), options);
        };
        if (auto stored = added_->put(name, std::move(server), origin, usable); !stored)
            return stored;
        publish();
    }
    changes_.notify();
    return {};
}

Result<void> McpServerList::remove(std::string_view name) {
    {
        const std::scoped_lock lock(mutex_);
        if (configured_.contains(name)) return is_configured(name, context_.config);
        if (auto removed = added_->remove(name); !removed) return removed;
        publish();
    }
    changes_.notify();
    return {};
}

}  // namespace crab::gateway
