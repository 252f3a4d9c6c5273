#pragma once

#include "base/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab::fleet {

// The messages about devices that come back at another node: docs/protocols/fleet.md, section 5,
// "The device moves". Reading fails with kInvalidArgs; unknown fields are skipped.

/// One process of a device, in a chat session of its principal: it runs no request twice.
struct DeviceProcess {
    static constexpr std::size_t kLongestPart = 512;
    std::string principal, chat, instance;  ///< none is empty
    friend auto operator<=>(const DeviceProcess&, const DeviceProcess&) = default;
};

/// MOVED, to all: this process of a device is linked here.
struct Moved {
    DeviceProcess device;
    std::uint64_t connection = 0;
};
std::string to_wire(const Moved& moved);
Result<Moved> parse_moved(std::string_view body);

/// A request as the device gets it.
struct DeviceRequest {
    static constexpr std::size_t kLongestId = 64;
    std::string id, tool, args, caller, agent, traceparent;
};
/// RESUME, to the node of the link: this is out to that device and has no answer.
struct Resume {
    DeviceProcess device;
    std::uint64_t connection = 0;
    std::uint64_t beat = 0;  ///< the newest of the receiver's that the sender has heard
    DeviceRequest request;
};
/// In the envelope's flags: the receiver has the request already; only its id is here.
inline constexpr std::uint8_t kAskedBefore = 1;
/// The answer has come, or is not waited for: the device need not keep it.
inline constexpr std::uint8_t kHaveAnswer = 2;
/// Nobody waits for it any more: the device is told to stop.
inline constexpr std::uint8_t kGivenUp = 4;
std::string to_wire(const Resume& resume);
Result<Resume> parse_resume(std::string_view body);

/// REPLY, to whom the call waits at.
struct Reply {
    enum class Says : std::uint8_t {
        kLinked = 1,  ///< the link is here and has the request
        kGone = 2,  ///< it is not, or does not take it
        kAnswer = 3,
        kTooLong = 4,  ///< an answer that no message takes, or that cannot be read
        kProgress = 5,
    };
    std::string id;  ///< of the request
    std::uint64_t connection = 0;
    Says says = Says::kGone;
    std::string frame;  ///< of an answer or of progress, as the device wrote it
    bool has_frame() const { return says == Says::kAnswer || says == Says::kProgress; }
};
std::string to_wire(const Reply& reply);
Result<Reply> parse_reply(std::string_view body);

}  // namespace crab::fleet
