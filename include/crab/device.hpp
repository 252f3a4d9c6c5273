#pragma once

#include "crab/tool_error.hpp"
#include "crab/tool_handler.hpp"

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

/// A tool's claims about itself. They can make the gateway more careful, never less.
struct ToolTraits {
    std::optional<bool> read_only{};    ///< changes nothing
    std::optional<bool> destructive{};  ///< may destroy something
    std::optional<bool> idempotent{};   ///< a repeat has no second effect
    std::optional<bool> open_world{};   ///< reaches beyond this machine
    bool interactive = false;           ///< asks the person at the device
    std::chrono::milliseconds timeout{0};      ///< for callers that name none; 0: the gateway's
    std::chrono::milliseconds max_timeout{0};  ///< 0: the gateway's
    int max_concurrency = 0;                   ///< calls at the same time; 0: any
    std::string output_schema{};               ///< JSON Schema of JSON answers; empty: none
};

/// One tool of a list; see Device::tool().
struct ToolDefinition {
    std::string name{};
    std::string description{};
    std::string schema{};
    ToolHandler handler{};
    ToolTraits traits{};
    LaterHandler later{};  ///< in place of `handler`
};

/// A device's state as it reports it; absent members are unknown.
struct DevicePresence {
    std::optional<double> battery{};   ///< charge, 0 to 1
    std::optional<bool> charging{};
    std::optional<bool> metered{};     ///< its network costs by volume
    std::optional<bool> foreground{};  ///< in use by a person
    bool operator==(const DevicePresence&) const = default;
};

/// What a device reports to its owner while it runs.
struct DeviceEvent {
    enum class Kind : std::uint8_t {
        kConnected,  ///< the gateway has taken the tools
        kRejected,   ///< the gateway refused a tool; `message` names it and why
        kLost,       ///< the connection is lost; `retry_in` says when it dials again
        kNotice,     ///< a notice from the gateway, for logs
    };
    Kind kind = Kind::kNotice;
    std::string message{};
    std::string session_id{};   ///< of the chat session, kConnected
    std::string device{};  ///< the name in `<device>__<tool>`, kConnected, if the gateway sends it
    std::size_t tools = 0;  ///< registered, kConnected
    std::chrono::milliseconds retry_in{0};  ///< kLost
};

/// Why a device ended.
struct DeviceEnd {
    enum class Reason : std::uint8_t {
        kStopped,  ///< stop()
        kClosedByGateway,  ///< the gateway closed with 1000: do not reconnect
        kRefused,  ///< no valid token, or not allowed (401, 403, 4401)
        kLost,  ///< the connection failed, and DeviceOptions::reconnect is off
        kInvalid,  ///< the options are invalid; nothing was tried
    };
    Reason reason = Reason::kStopped;
    std::string message{};
    bool good() const { return reason == Reason::kStopped; }
};

struct DeviceOptions {
    /// Wss:// or unix:/path, or ws:// to this machine; a path prefix may follow the host
    std::string gateway = "ws://127.0.0.1:42617";
    std::string token{};
    std::string name{};  ///< for people and for `<device>__<tool>`; empty: the host's name
    /// Chat session to use; empty: the gateway makes one, kept over reconnects
    std::string session_id{};
    std::string ca_file{};  ///< PEM, for wss://; empty: the system's
    /// Exchanged for a token at the start (`POST /pair`); takes precedence over `token`
    std::string pair_code{};
    /// Called with the key (DER) that `pair_code` is about to be exchanged for, on the device's own
    /// thread; may block.
    std::function<void(const std::string& public_key)> before_pairing{};
    /// Read if there is neither token nor code; pairing writes its result to it, mode 0600
    std::string token_file{};
    /// Called when the token is refused; nullopt or the old token: the device ends
    std::function<std::optional<std::string>()> new_token{};
    std::function<void(const DeviceEvent&)> on_event{};  ///< on the device's thread; must not block
    bool reconnect = true;
    std::size_t parallel_handlers = 8;
    std::size_t queued_calls = 64;  ///< beyond: `RATE_LIMITED`
    /// Allows ws:// and http:// beyond this machine, where something else encrypts
    bool allow_plain = false;
};

/// A device whose tools a gateway can call: it dials in, registers them, answers calls, and
/// reconnects when the connection breaks.
///
///     crab::Device device({.gateway = "ws://127.0.0.1:42617", .token = token, .name = "Kitchen"});
///     device.tool("read_thermometer", "Room temperature in Celsius", R"({"type":"object"})",
///                 [](crab::ToolRequest) { return crab::ToolAnswer::json(R"({"celsius":21.5})");
///                 });
///     const crab::DeviceEnd end = device.run();
///
/// Thread-safe; stop(), tool() and set_presence() may be called from handlers too. Source:
/// docs/protocols/clawseed.md, section 10.
class Device {
public:
    explicit Device(DeviceOptions options);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    /// stop() and wait(); waits for handlers that are still running.
    ~Device();

    /// Adds a tool or replaces the one of that name, at any time; a connected gateway is notified
    /// within 100 ms. `schema` is the JSON Schema of the arguments object. Throws
    /// std::invalid_argument for a name beyond `[A-Za-z0-9_.-]{1,128}`, a missing or too long
    /// description (8 KiB), a schema that is not a JSON object.
    void tool(std::string name, std::string description, std::string schema, ToolHandler handler,
              ToolTraits traits = {});
    /// Removes a tool; false when there is none. Calls that are running finish.
    bool remove_tool(std::string_view name);
    /// Replaces all tools of the device. A connected gateway is notified within 100 ms, in one
    /// message. Throws as tool() does, and then changes nothing. Of two tools with the same name
    /// the last counts.
    void set_tools(std::vector<ToolDefinition> tools);
    std::size_t tool_count() const;

    /// Sets the device's state, at any time; it is sent again after every reconnect. A connected
    /// gateway is notified within 100 ms of a change. Throws std::invalid_argument for a battery
    /// beyond 0 to 1.
    void set_presence(const DevicePresence& presence);

    /// start() and wait().
    DeviceEnd run();
    /// Connects and serves in the background. Throws std::logic_error while it is running.
    void start();
    /// Says goodbye (1000), cancels running calls and lets run() and wait() return. Does nothing
    /// when not running.
    void stop();
    /// Waits for the end. Not from a handler or on_event.
    DeviceEnd wait();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Exchanges a pairing code (`NNNN-NNNN-NNNN`) for a token. `gateway` and `allow_plain` as in
/// DeviceOptions.
std::expected<std::string, ToolError> pair_device(const std::string& gateway,
                                                  const std::string& code,
                                                  const std::string& ca_file = {},
                                                  bool allow_plain = false);

}  // namespace crab
