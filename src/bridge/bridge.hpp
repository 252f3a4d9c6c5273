#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "bridge/bridge_paths.hpp"
#include "bridge/bridge_status.hpp"
#include "bridge/folder_watch.hpp"
#include "bridge/notifications.hpp"
#include "bridge/provider_directory.hpp"
#include "bridge/transports.hpp"
#include "net/loop/event_loop.hpp"

#include "crab/device.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace crab::bridge {

/// The bridge of one user: the providers of this machine on one side, a gateway on the other, to
/// which it is one device. Finds and calls providers on an event loop of its own; no thread blocks
/// on their answers. Source: docs/protocols/cetp.md, section 6.
class Bridge {
public:
    /// Calls end this long before the gateway's deadline, so that the bridge can still answer.
    static constexpr Milliseconds kMargin{500};
    static constexpr std::size_t kCallsAtOnce = 64;

    /// `device`: where to dial and as whom; the bridge sets its events and number of handlers.
    Bridge(BridgePaths paths, crab::DeviceOptions device);
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;
    ~Bridge();

    /// Scans, connects, and serves until stop() or until the gateway closes the connection with
    /// 1000.
    DeviceEnd run();
    /// Thread-safe.
    void stop();

private:
    crab::DeviceOptions with_events(crab::DeviceOptions options);
    BusLink::Events bus_events();
    void on_owner(const std::string& name, bool owned);
    Task<std::set<std::string>> activatable_names();
    Task<void> compare_bus_names();
    Task<std::vector<cetp::Candidate>> bus_names();
    void start();
    void on_set(const std::shared_ptr<const cetp::ToolSet>& set);
    void on_event(const DeviceEvent& event);
    void on_request(const cetp::Route& route, const ToolRequest& request, AnswerLater answer);
    void on_end(const cetp::Route& route, const std::string& call_id, SteadyTime began,
                const cetp::Envelope& envelope);
    void stop_when_idle();
    Task<cetp::Envelope> call(cetp::Route route, cetp::MethodCall call, Deadline deadline);
    void on_answer(const cetp::Route& route, const cetp::Envelope& envelope);
    void write_status();
    Task<void> write_status_file();

    const BridgePaths paths_;
    RealClock clock_;
    BlockingPool blocking_{4};
    FairPool lists_{1};
    net::EventLoop loop_;
    MachineTransports transports_;
    ProviderCaller caller_;
    BridgeStatus status_;
    std::set<std::string> activatable_;  // bus names that the bus can start
    std::size_t calls_ = 0;  // under way
    bool started_ = false;
    bool winding_up_ = false;  // the loop stops with the last call
    bool status_changed_ = false, status_writing_ = false;
    std::promise<void> first_set_;
    bool has_set_ = false;
    std::unique_ptr<ProviderDirectory> directory_;
    std::unique_ptr<FolderWatch> folders_;
    crab::Device device_;
    std::atomic<bool> stopping_ = false;
    std::unique_ptr<TaskGroup> tasks_;
    Notifications notifications_;
};

}  // namespace crab::bridge
