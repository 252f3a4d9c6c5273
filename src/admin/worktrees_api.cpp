#include "admin/worktrees_api.hpp"

#include "hosts/command/worktree_file.hpp"
#include "json/writer.hpp"
#include "net/codec/url.hpp"

#include <simdjson.h>

namespace crab::admin {
namespace {

constexpr std::size_t kMostBindings = 10'000;

}  // namespace

void WorktreesApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    const net::RouteParameter who{"who", "a principal or an agent"};
    routes.add({.path = "/v1/admin/worktrees",
                .summary = "Worktrees, and who works in which",
                .answers = {{200, "worktree_list"}}},
               [this](const Request& request) { list(request.exchange); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/worktrees/bind",
                .proof = net::FreshProof::kNever,
                .summary = "Bind a principal or an agent to a worktree",
                .query = {who, {"worktree", "its id"}},
                .answers = {{200, "worktree_binding"}},
                .refusals = {400, 404, 429, 503}},
               [this](const Request& request) { return change(request.exchange, true); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/worktrees/unbind",
                .proof = net::FreshProof::kNever,
                .summary = "Undo that",
                .query = {who},
                .answers = {{200, "worktree_binding"}},
                .refusals = {400, 404, 503}},
               [this](const Request& request) { return change(request.exchange, false); });
}

void WorktreesApi::list(net::HttpExchange& exchange) const {
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer writer(out);
    writer.begin_object().key("worktrees").begin_array();
    for (const command::Worktree& worktree : worktrees_->all()) {
        writer.begin_object()
            .key("id")
            .string(worktree.id)
            .key("path")
            .string_lossy(worktree.path.native());
        writer.key("read_only").boolean(worktree.read_only).end_object();
    }
    writer.end_array().key("bindings").begin_array();
    const command::Worktrees::Bindings bindings = worktrees_->bindings();
    for (const auto* its : {&bindings.principals, &bindings.agents}) {
        for (const auto& [who, worktree] : *its) {
            writer.begin_object()
                .key("who")
                .string(who)
                .key("kind")
                .string(its == &bindings.agents ? "agent" : "principal")
                .key("worktree")
                .string(worktree)
                .end_object();
        }
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> WorktreesApi::change(net::HttpExchange& exchange, bool bind) {
    const std::string who = net::find_query(exchange.request().query(), "who").value_or("");
    const std::string worktree =
        net::find_query(exchange.request().query(), "worktree").value_or("");
    if (who.empty() || who.size() > 256 || !simdjson::validate_utf8(who)) {
        exchange.respond_error(400, "INVALID_ARGS", "name a principal or an agent (who)");
        co_return;
    }
    if (bind && worktrees_->find(worktree) == nullptr) {
        exchange.respond_error(
            404, "NOT_FOUND",
            "no worktree of that id is configured; crab worktrees list lists them");
        co_return;
    }
    command::Worktrees::Bindings bindings = worktrees_->bindings();
    auto& its = bindings.map_of(who);
    const bool known = its.contains(who);
    if (!bind && !known) {
        exchange.respond_error(404, "NOT_FOUND", "nothing is bound for it");
        co_return;
    }
    if (bind && !known && bindings.size() >= kMostBindings) {
        exchange.respond_error(429, "RATE_LIMITED", "there are too many bindings; unbind some");
        co_return;
    }
    if (bind)
        its.insert_or_assign(who, worktree);
    else
        its.erase(who);
    // In memory at once, so that changes in progress at the same time build on each other; the file
    // holds the last of them.
    worktrees_->set_bindings(std::move(bindings));
    auto store = [this] {
        const std::scoped_lock lock(file_mutex_);
        return command::store_bindings(file_, worktrees_->bindings());
    };
    const Result<void> stored = co_await pool_.run(std::move(store));
    if (!stored) {
        exchange.respond_error(503, "UNAVAILABLE", stored.error().message);
        co_return;
    }
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer(out)
        .begin_object()
        .key("who")
        .string(who)
        .key("worktree")
        .string(bind ? worktree : std::string())
        .end_object();
    exchange.finish_response();
}

}  // namespace crab::admin
