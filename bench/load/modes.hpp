#pragma once

#include "load/options.hpp"

namespace crab::bench {

/// Calls through a server for a few seconds; prints Driver::report().
void run_calls(Options options);
/// Opens idle devices, prints `{"open":n}`, and holds them until standard input ends; with `answer`
/// they answer calls until killed.
void run_idle(Options options);
/// A mix of good, refused, failing and abandoned calls over devices that come and go; prints what
/// became of them.
void run_soak(Options options);
/// A tool host on a Unix socket with the tool `echo`; prints `host ready` and serves until it is
/// killed.
void run_host(Options options);
/// A trivial MCP server on standard input and output, of revision 2025-11-25, with the tool `echo`
/// and `--tools N` more; serves until its input ends.
void run_mcp_server(Options options);
/// Devices that answer, each with a tool of its own; prints `devices ready` and serves until it is
/// killed.
void run_devices(Options options);

}  // namespace crab::bench
