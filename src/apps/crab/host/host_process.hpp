#pragma once

#include "apps/crab/host/hosted_tools.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace crab::app {

enum class HostKind : std::uint8_t { kMemory, kCron };
std::string_view name_of(HostKind kind);

/// A built-in tool host on a Unix socket of its own, wired and running: one event loop, the stores, the pipeline that every call
/// takes. Made and stopped by one thread, which is not its loop's.
class HostProcess {
public:
    struct Options {
        HostKind kind = HostKind::kMemory;
        std::filesystem::path socket;      ///< mode 0600
        std::filesystem::path state_dir;   ///< exists; `<kind>.db`, `ledger.db` and `audit.db` are there
    };
    /// The socket answers when it returns. Errors: kUnavailable (socket in use, store damaged), kInvalidArgs (socket's path).
    static Result<std::unique_ptr<HostProcess>> start(const Options& options);
    HostProcess(const HostProcess&) = delete;
    HostProcess& operator=(const HostProcess&) = delete;
    /// stop().
    ~HostProcess();

    /// Takes no more calls, leaves those that run 10 s, stores what is to be stored, joins all threads. Idempotent.
    void stop();

private:
    struct Parts;
    explicit HostProcess(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace crab::app
