#pragma once

#include "crab/tool_error.hpp"
#include "crab/tool_handler.hpp"

#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace crab {

/// A tool as its host offers it. Schemas are JSON Schema 2020-12, as text; both are enforced.
struct HostTool {
    std::string name{};                                     ///< `[A-Za-z0-9_.-]{1,128}`
    std::string description{};                              ///< 1 to 8192 bytes
    std::string input_schema = R"({"type":"object"})";      ///< of the arguments
    std::string output_schema{};  ///< of the result, which is always an object; empty: unchecked
    std::string title{};
    std::chrono::milliseconds timeout{30'000};  ///< for callers that name none
    std::chrono::milliseconds max_timeout{120'000};  ///< at most 120 s
    bool idempotent = false;  ///< a repeat has no second effect
    /// It changes something: its calls are in the ledger, its results get an `operation_id`
    bool side_effects = true;
    /// Calls at the same time; 0: what the host allows, 64 in all
    std::size_t max_concurrency = 0;
};

/// Where a host behind mutual TLS listens, and which gateway may pair with it.
struct PairedListener {
    std::string listen = "0.0.0.0:7443";  ///< `host:port`; port 0: the system chooses
    /// Of the only gateway that may pair, as `crab peers identity` prints it
    std::string gateway_key{};
    std::string id{};  ///< as a peer; empty: the host's name
    std::string pair_path = "/v1/pair";
    std::filesystem::path state_dir{};  ///< required: holds keys, certificates and the ledger
};

/// A process that offers tools to a gateway: on a Unix socket of this machine, or behind mutual TLS
/// after `crab peers pair tool`.
///
///     crab::ToolHost host("weather");
///     host.add({.name = "weather.today", .description = "Today's weather", .side_effects = false},
///              [](crab::ToolRequest request) { return
///              crab::ToolAnswer::json(R"({"sky":"clear"})"); });
///     return host.serve_unix("/run/crab/weather.sock");
///
/// The host does what handlers should not have to: it checks requests, arguments and results, runs
/// repeats of a key once, ends each call at its deadline whatever the handler does (that handler
/// keeps its slot until it returns, and its result serves repeats), enforces limits (64 calls run,
/// 256 wait), cancels, and shuts down cleanly. The answers `RATE_LIMITED` and `UNAVAILABLE` of a
/// handler promise that the call had no effect: callers repeat them. Source: docs/protocols/rtp.md,
/// sections 1 to 3.
class ToolHost {
public:
    explicit ToolHost(std::string name);
    ToolHost(const ToolHost&) = delete;
    ToolHost& operator=(const ToolHost&) = delete;
    /// stop().
    ~ToolHost();

    /// Adds a tool, before the host is started. Throws std::invalid_argument for what HostTool does
    /// not allow and for a name that is taken.
    void add(HostTool tool, ToolHandler handler);

    /// Serves until SIGINT or SIGTERM; prints `crab host ready name=… unix=…` when it can be
    /// called. Returns an exit status for main(): 0, or 1 after a line on standard error. With a
    /// `state_dir` keys hold across restarts and crashes, else as long as the process.
    int serve_unix(const std::filesystem::path& socket,
                   const std::filesystem::path& state_dir = {});
    /// The same behind mutual TLS; prints `remote_key=…` before.
    int serve(const PairedListener& listener);

    /// For programs with a main loop of their own: these return once the host is ready. Errors:
    /// `UNAVAILABLE` (address in use, state damaged), `INVALID_ARGS`.
    std::expected<void, ToolError> start_unix(const std::filesystem::path& socket,
                                              const std::filesystem::path& state_dir = {});
    std::expected<void, ToolError> start(const PairedListener& listener);
    /// `host:port` of a paired host that runs, with the port that the system chose.
    std::string address() const;
    /// Accepts no more calls, gives running ones 10 s, then cancels them and waits for their
    /// handlers. Must not be called from a handler.
    void stop();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace crab
