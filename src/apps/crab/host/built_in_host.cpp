#include "apps/crab/host/built_in_host.hpp"

#include "apps/crab/host/cron_sinks.hpp"
#include "apps/crab/host/hosted_cron.hpp"
#include "apps/crab/host/hosted_memory.hpp"

#include <string>
#include <utility>

namespace crab::app {

std::string_view name_of(HostKind kind) {
    switch (kind) {
        case HostKind::kMemory: return "memory";
        case HostKind::kCron: return "cron";
    }
    return "";
}

Result<std::unique_ptr<sdk::HostEngine>> start_built_in_host(HostKind kind, sdk::HostEngine::Options where) {
    where.service = name_of(kind);
    where.make_tools = [kind, file = where.state_dir / (where.service + ".db")](net::EventLoop& home) -> Result<std::unique_ptr<sdk::HostedTools>> {
        switch (kind) {
            case HostKind::kMemory: return HostedMemory::open(file, home.clock());
            case HostKind::kCron: return HostedCron::open(file, home, std::make_unique<NoEventSink>());
        }
        return fail(ErrorCode::kInternal, "no such host");
    };
    return sdk::HostEngine::start(where);
}

}  // namespace crab::app
