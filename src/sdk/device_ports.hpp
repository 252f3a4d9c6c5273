#pragma once

#include "base/clock.hpp"
#include "sdk/call_state.hpp"
#include "sdk/device_frames.hpp"
#include "sdk/device_tools.hpp"

#include "crab/device.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::sdk {

enum class TokenNeed : std::uint8_t {
    kFirst,   ///< from the options, a pairing code or the token file
    kRefused  ///< the last one was refused
};

/// The environment of a DeviceLink. Called on the link's thread; results are delivered on it, never
/// synchronously.
class DevicePorts {
public:
    virtual ~DevicePorts() = default;
    /// Ends in DeviceLink::on_token().
    virtual void fetch_token(TokenNeed need) = 0;
    /// Ends in on_open() or on_refused().
    virtual void dial(const std::string& token, const std::string& session_id) = 0;
    virtual void send(std::string_view frame) = 0;
    /// Ends in on_closed(), soon.
    virtual void close(std::uint16_t code, std::string_view reason) = 0;
    /// Drops a dead connection; may call on_closed() synchronously.
    virtual void abort() = 0;
    /// When bytes last came in.
    virtual SteadyTime last_heard() const = 0;
    /// Has the handler run on another thread and its answer given to DeviceLink::finish(); false
    /// when there is no room. `uploads`: how a large result is sent ahead of its answer; nothing
    /// when it cannot be.
    virtual bool run(std::shared_ptr<CallState> call, std::shared_ptr<const DeviceTool> tool,
                     std::optional<UploadTerms> uploads) = 0;
    virtual void report(const DeviceEvent& event) = 0;
    /// Nothing more will be asked.
    virtual void ended(DeviceEnd end) = 0;
};

}  // namespace crab::sdk
