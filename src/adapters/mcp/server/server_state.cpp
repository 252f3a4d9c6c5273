#include "adapters/mcp/server/server_state.hpp"

#include "json/writer.hpp"

#include <utility>

namespace crab::mcp {
namespace {

std::string info_of(const ServerOptions& options) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("name").string("crab");
    writer.key("version").string(options.version).end_object();
    return out;
}

}  // namespace

ServerState::ServerState(ServerOptions chosen, const TaskTable::Uses& uses, crypto::AesKey key)
    : options(std::move(chosen)),
      server_info(info_of(options)),
      sessions(uses.clock, uses.random, options.sessions),
      listens(options.listens_per_principal),
      links(uses.clock),
      parked(uses.clock, options.input_wait),
      tasks(uses, {.patience = options.task_patience}),
      sealer(std::move(key), uses.random, uses.clock),
      random_(uses.random) {}

bool ServerState::sweep() {
    const bool has_sessions = sessions.sweep();
    return parked.sweep() || has_sessions;
}

}  // namespace crab::mcp
