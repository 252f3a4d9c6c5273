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
#include <utility>
#include <vector>

namespace crab {

namespace sdk {
class ToolTransport;
}

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

/// A call's execution policy, over gRPC only; zero and empty: not stated (docs/protocols/sw4rm.md,
/// section 4).
struct ExecutionPolicy {
    std::uint32_t max_retries = 0;
    std::string backoff{};          ///< `none`, `exponential`, `linear`, `constant`
    bool worktree_required = false;
    std::string network_policy{};   ///< `DENY_ALL`, …
    std::string privilege_level{};  ///< `MINIMAL`, …
    std::chrono::milliseconds budget_cpu{0}, budget_wall{0};
};

struct CallOptions {
    std::chrono::milliseconds timeout{0};  ///< 1..120000; 0: the tool's own
    std::string idempotency_key{};         ///< repeats of an accepted key run once
    std::string call_id{};                 ///< empty: a fresh UUID
    std::string tenant_id = "default";
    CallContext context{};
    /// Restricts the lookup to one source; this and what follows over gRPC only
    std::string provider_id{};
    std::string content_type{};            ///< of the arguments; empty: JSON
    ExecutionPolicy policy{};
    /// A repeat does no harm; otherwise the tool's declaration decides whether to retry
    bool idempotent = false;
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
        kNoAnswer,        ///< the gateway did not answer this call; `error` says why
    };
    Status status = Status::kNoAnswer;
    std::string call_id{};
    std::string result{};  ///< a JSON object, when `ok()`; over gRPC bytes of `content_type`
    std::string content_type{};  ///< over gRPC
    std::string summary{};  ///< over gRPC: what the server says of the run, JSON
    ToolError error{};  ///< when not
    std::chrono::milliseconds duration{0};
    std::vector<std::string> logs{};
    bool replayed = false;  ///< the stored outcome of an earlier call with this key

    bool ok() const { return status == Status::kOk; }
};

/// Callbacks for the parts of a streamed call. Returning false from on_frame ends the call early.
struct StreamCallbacks {
    std::function<bool(const ToolFrame& frame)> on_frame{};
    std::function<void(std::string_view message, std::optional<double> progress,
                       std::optional<double> total)>
        on_progress{};
};

enum class CancelStatus : std::uint8_t { kCancelling, kFinished, kNotFound };

/// One attempt of a call over gRPC, before it is sent. An interceptor may add metadata; names are
/// in lower case.
struct CallAttempt {
    const std::string& call_id;
    const std::string& tool;
    int number = 1;
    std::vector<std::pair<std::string, std::string>> metadata{};
};

struct ToolClientOptions {
    std::string ca_file{};  ///< PEM, for https:// and grpcs://; empty: the system's
    std::chrono::milliseconds connect_timeout{5'000};
    std::size_t max_reply_bytes = 64 * 1024 * 1024;
    std::size_t kept_connections = 8;
    std::string cert_file{}, key_file{};  ///< PEM: the certificate shown, for grpcs://; empty: none
    std::string user_agent = "crab-cpp/1";  ///< for gRPC, as is what follows
    int max_retries = 2;  ///< of idempotent tools, after UNAVAILABLE
    /// Each is called before every attempt, on the client's own thread, in this order; none may
    /// block or throw.
    std::vector<std::function<void(CallAttempt& attempt)>> interceptors{};
    /// Allows http:// and grpc:// beyond this machine, where something else encrypts
    bool allow_plain = false;
};

/// Calls tools through a gateway, or any other ToolService. Blocking, thread-safe. Over HTTP each
/// thread's call has its own connection, kept for later calls; over gRPC all share one. A call over
/// gRPC always has an id, a correlation id and a deadline (its timeout, else 30 s, and 5 s, so that
/// the server's answer wins), and is repeated under its id when that is safe. Source:
/// docs/protocols/rtp.md, sections 2 and 3; docs/protocols/sw4rm.md, section 13.
class ToolClient {
public:
    /// `gateway`: `http://127.0.0.1:42617`, `https://…`, or `unix:/path` (no token needed there);
    /// `grpc://127.0.0.1:50063`, `grpcs://…`, or `grpc+unix:/path`. Throws std::invalid_argument
    /// for any other text, for one without TLS beyond this machine (a token could be read on the
    /// way) unless `allow_plain`, and for a file that cannot be used.
    explicit ToolClient(const std::string& gateway, std::string token = {},
                        ToolClientOptions options = {});
    ~ToolClient();
    ToolClient(ToolClient&&) noexcept;
    ToolClient& operator=(ToolClient&&) noexcept;

    /// The tools this caller may call, sorted by name.
    std::expected<std::vector<ToolInfo>, ToolError> list();
    /// Runs a tool; `args` is a JSON object. Reports transport failures in the result, never by
    /// throwing.
    CallResult call(const std::string& tool, const std::string& args = "{}",
                    const CallOptions& options = {});
    /// The same, with frames and progress as they come; the callbacks run on this thread.
    CallResult call_stream(const std::string& tool, const std::string& args,
                           const StreamCallbacks& callbacks, const CallOptions& options = {});
    /// Cancels a running call; from another thread than the one that waits for it.
    std::expected<CancelStatus, ToolError> cancel(const std::string& call_id,
                                                  const std::string& tenant_id = "default");

private:
    std::unique_ptr<sdk::ToolTransport> transport_;
};

}  // namespace crab
