#pragma once

#include "adapters/clawseed/hub.hpp"
#include "fleet/moved_calls.hpp"
#include "json/parser.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// Between the devices of this node and fleet::MovedCalls: calls go on whose device has come back
/// at another node. All but arrived() on the first loop.
class MovedDevices final : public fleet::MovedCalls::Waiting,
                           public fleet::MovedCalls::Links,
                           public clawseed::OtherNodes {
public:
    /// Until stop(), `hub` and `moved` use it. `first` is the loop of `moved`.
    MovedDevices(clawseed::Hub& hub, fleet::MovedCalls& moved, net::EventLoop& first);
    /// On the first loop, before `hub` and `moved` end.
    void stop();

    // fleet::MovedCalls::Waiting
    std::vector<Out> unanswered(const fleet::DeviceProcess& device) override;
    bool waits(const fleet::DeviceProcess& device, std::string_view id) override;
    void set_held(const fleet::DeviceProcess& device, std::string_view id, bool held) override;
    void answer(const fleet::DeviceProcess& device, std::string_view id,
                std::optional<std::string> frame, std::function<void()> kept) override;
    void progress(const fleet::DeviceProcess& device, std::string_view id,
                  const std::string& frame) override;
    // fleet::MovedCalls::Links
    void on_resume(const bus::Place& asker, std::uint8_t flags, fleet::Resume resume,
                   Deadline deadline) override;
    // clawseed::OtherNodes
    void arrived(ConnectionId connection, std::string principal, std::string chat,
                 std::string instance) override;

private:
    core::Outcome read(std::string_view frame);

    clawseed::Hub& hub_;
    fleet::MovedCalls& moved_;
    net::EventLoop& first_;
    json::Parser parser_;
};

}  // namespace crab::gateway
