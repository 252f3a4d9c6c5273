// The load generator of bench/run: it plays the callers and the devices of a relay, one thread, one
// epoll. Its output is one line of JSON; bench/run starts the servers, chooses the cores and
// compares.

#include "load/modes.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

namespace {

constexpr const char* kUsage = R"(usage: bench_load MODE --name value ...
  calls  --target http|mcp|nats|nats-mux  --connect ADDRESS  [--device ADDRESS --devices N] [)"
                               R"(--backend-fd FD] [--token T]
         [--tool NAME | --get PATH] [--in-flight N] [--rate CALLS_PER_SECOND] [--warm-up S] [)"
                               R"(--seconds S] [--server-pid PID]
         [--version REVISION [--session ID] [--path PATH]]   of --target mcp
  idle   --device ADDRESS --count N [--tokens FILE] [--tls 1] [--tools 1] [--threads N]
  soak   --connect ADDRESS --device ADDRESS [--token T] [--devices N] [--in-flight N] [--seconds )"
                               R"(S] [--seed N]
  host   --listen unix:PATH
  mcp-server [--tools N]
  device --device ADDRESS [--token T] [--devices N]
ADDRESS is tcp:HOST:PORT or unix:PATH.
)";

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    try {
        crab::bench::Options options(argc, argv, 2);
        if (mode == "calls") {
            crab::bench::run_calls(std::move(options));
        } else if (mode == "idle") {
            crab::bench::run_idle(std::move(options));
        } else if (mode == "soak") {
            crab::bench::run_soak(std::move(options));
        } else if (mode == "host") {
            crab::bench::run_host(std::move(options));
        } else if (mode == "mcp-server") {
            crab::bench::run_mcp_server(std::move(options));
        } else if (mode == "device") {
            crab::bench::run_devices(std::move(options));
        } else {
            std::fputs(kUsage, stderr);
            return 2;
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_load: %s\n", failure.what());
        return 1;
    }
}
