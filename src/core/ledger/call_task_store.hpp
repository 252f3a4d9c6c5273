#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

/// A call that goes on though its caller was answered with a handle, by which it asks for the
/// outcome later. It outlives the gateway: what ran when a gateway ended is run again under the
/// same call id, and the ledger says what that comes to.
struct CallTask {
    std::string id;  ///< the handle: random
    std::string tenant, principal;  ///< whose it is
    std::string call_id;  ///< under which the ledger knows the call, if that has no key
    /// What the front runs the call with again. Empty: it has ended, or its caller has cancelled it
    std::string request;
    std::string resume;  ///< work that the host takes up again (LongCall::on_deferred), or empty
    SystemTime created, updated;
    bool ended = false;
    std::string status, outcome;  ///< of one that has ended, in the front's words
    friend bool operator==(const CallTask&, const CallTask&) = default;
};

/// Store of tasks. Every function may block, and what it changes is durable when it returns.
/// Thread-safe. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class CallTaskStore {
public:
    /// What one principal may have.
    struct Limits {
        std::size_t tasks = 256;
        std::size_t bytes = std::size_t{64} << 20;  ///< of requests and outcomes, at a new task
        /// The same at an end; an outcome of a few bytes is always taken
        std::size_t bytes_at_end = std::size_t{128} << 20;
    };
    virtual ~CallTaskStore() = default;

    /// False, and nothing is stored, when its principal has as much as it may.
    virtual Result<bool> add(const CallTask& task, const Limits& limits) = 0;
    virtual Result<std::optional<CallTask>> find(std::string_view id) = 0;
    /// The host has promised this work.
    virtual Result<void> set_resume(std::string_view id, std::string_view resume) = 0;
    /// Its caller wants it to end: nothing is run again.
    virtual Result<void> cancel(std::string_view id) = 0;
    static constexpr std::size_t kFewBytes = 4096;
    /// It has ended; the first end counts. False, and nothing is stored, when its principal has
    /// too much.
    virtual Result<bool> end(std::string_view id, std::string_view status, std::string_view outcome,
                             SystemTime at, const Limits& limits) = 0;
    /// Removes one whose caller has not got its handle.
    virtual Result<void> remove(std::string_view id) = 0;
    /// Removes those that were created before, at most 1,000; returns how many.
    virtual Result<std::uint64_t> forget(SystemTime before) = 0;
};

}  // namespace crab::core
