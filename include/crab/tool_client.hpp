#pragma once

#include "crab/call_context.hpp"
#include "crab/tool_error.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab {

/// A tool as the gateway lists it to this caller.
struct ToolInfo {
    std::string name{};
    std::string description{};
    std::string input_schema{};   ///< JSON
    std::string output_schema{};  ///< JSON
    std::chrono::milliseconds timeout{0};
    std::chrono::milliseconds max_timeout{0};
    bool idempotent = false;
    bool side_effects = true;
};

struct CallOptions {
    std::chrono::milliseconds timeout{0};  ///< 1..120000; 0: the tool's own
    std::string idempotency_key{};         ///< repeats of an accepted key run once
    std::string call_id{};                 ///< empty: a fresh UUID
    std::string tenant_id = "default";
    CallContext context{};
};

/// One part of a streamed result.
struct ToolFrame {
    std::uint64_t number = 0;  ///< from 1
    bool final = false;
    std::string content_type{};
    std::string data{};
    std::string summary{};  ///< JSON, or empty
};

struct CallResult {
    enum class Status : std::uint8_t {
        kOk,
        kError,
        kRetryableError,  ///< it had no effect
        kTimeout,         ///< it may have had one
        kNoAnswer,        ///< the gateway gave no answer to this call; `error` says why
    };
    Status status = Status::kNoAnswer;
    std::string call_id{};
    std::string result{};  ///< a JSON object, when `ok()`
    ToolError error{};     ///< when not
    std::chrono::milliseconds duration{0};
    std::vector<std::string> logs{};
    bool replayed = false;  ///< the stored outcome of an earlier call with this key

    bool ok() const { return status == Status::kOk; }
};

/// What to do with the parts of a streamed call. False from on_frame ends the call early.
struct StreamCallbacks {
    std::function<bool(const ToolFrame& frame)> on_frame{};
    std::function<void(std::string_view message, std::optional<double> progress, std::optional<double> total)> on_progress{};
};

enum class CancelStatus : std::uint8_t { kCancelling, kFinished, kNotFound };

struct ToolClientOptions {
    std::string ca_file{};                            ///< PEM, for https://; empty: the system's
    std::chrono::milliseconds connect_timeout{5'000};
    std::size_t max_reply_bytes = 8 * 1024 * 1024;
    std::size_t kept_connections = 8;
};

/// Calls tools through a gateway. Blocking, thread-safe: each thread's call has its own connection, kept for later calls.
/// Source: docs/protocols/rtp.md, sections 2 and 3.
class ToolClient {
public:
    /// `gateway`: `http://127.0.0.1:42617`, `https://…`, or `unix:/path` (no token needed there). Throws std::invalid_argument
    /// for any other text and for a CA file that cannot be used.
    explicit ToolClient(const std::string& gateway, std::string token = {}, ToolClientOptions options = {});
    ~ToolClient();
    ToolClient(ToolClient&&) noexcept;
    ToolClient& operator=(ToolClient&&) noexcept;

    /// The tools this caller may call, sorted by name.
    std::expected<std::vector<ToolInfo>, ToolError> list();
    /// Runs a tool; `args` is a JSON object. Never throws for what goes wrong on the way.
    CallResult call(const std::string& tool, const std::string& args = "{}", const CallOptions& options = {});
    /// The same, with frames and progress as they come; the callbacks run on this thread.
    CallResult call_stream(const std::string& tool, const std::string& args, const StreamCallbacks& callbacks, const CallOptions& options = {});
    /// Cancels a running call; from another thread than the one that waits for it.
    std::expected<CancelStatus, ToolError> cancel(const std::string& call_id, const std::string& tenant_id = "default");

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace crab
