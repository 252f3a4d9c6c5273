#include "hosting/host_run.hpp"

#include "base/log.hpp"
#include "config/paths.hpp"
#include "sdk/tool_host/serve.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::hosting {

int run_host(const BuiltInHost& what, const sdk::HostEngine::Options& where) {
    const auto complain = [](const Error& error) {
        fmt::print(stderr, "crab host: {}\n", error.message);
        return 1;
    };
    if (const auto made = config::ensure_private_directory(where.state_dir, ::getuid()); !made)
        return complain(made.error());
    const auto host = built_in_host(what, where);
    if (!host) return complain(host.error());
    if (what.kind == HostKind::kCron && !what.events_to)
        log::warn("no gateway takes events from this process; fired events stay in its store");
    return sdk::serve_until_signal(*host);
}

}  // namespace crab::hosting
