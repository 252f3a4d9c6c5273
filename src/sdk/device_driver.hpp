#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/task_group.hpp"
#include "net/http/dialer.hpp"
#include "net/loop/event_loop.hpp"
#include "sdk/device_identity.hpp"
#include "sdk/device_link.hpp"
#include "sdk/device_ports.hpp"
#include "sdk/gateway_address.hpp"
#include "sdk/handler_pool.hpp"
#include "sdk/run_handler.hpp"
#include "sdk/uploader.hpp"

#include "crab/device.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace crab::sdk {

/// Provides sockets, threads and time to a DeviceLink, for one run of a device.
class DeviceDriver final : private DevicePorts {
public:
    static constexpr Milliseconds kDialTimeout{15'000};
    /// For gateways that send no pings themselves
    static constexpr Milliseconds kPingAfter{25'000};

    /// All must outlive the driver.
    DeviceDriver(const DeviceOptions& options, const DeviceTools& tools, GatewayAddress address,
                 std::shared_ptr<net::TlsContext> tls);
    ~DeviceDriver() override;

    /// Runs on this thread until the device has ended.
    DeviceEnd run();
    // From any thread:
    void stop();
    void tools_changed();
    void set_presence(const DevicePresence& presence);

private:
    class Socket;
    class Gate;

    void fetch_token(TokenNeed need) override;
    void dial(const std::string& token, const std::string& session_id) override;
    void send(std::string_view frame) override;
    void close(std::uint16_t code, std::string_view reason) override;
    void abort() override;
    SteadyTime last_heard() const override;
    bool run(std::shared_ptr<CallState> call, std::shared_ptr<const DeviceTool> tool,
             std::optional<UploadTerms> uploads) override;
    void report(const DeviceEvent& event) override;
    void ended(DeviceEnd end) override;

    DeviceLink::Options link_options() const;
    bool begin(const std::shared_ptr<CallState>& call, const DeviceTool& tool,
               const std::optional<UploadTerms>& uploads);
    void settle(const std::shared_ptr<CallState>& call, Handled handled,
                const std::optional<UploadTerms>& uploads);
    void upload(CallState& call, Handled handled, const UploadTerms& uploads);
    void finish(const std::string& call_id, Handled handled);
    std::expected<std::string, DeviceEnd> find_token(TokenNeed need);
    std::expected<std::string, DeviceEnd> prove_identity();
    std::expected<std::string, DeviceEnd> pair();
    void keep(std::string_view credential);
    Task<void> obtain_token(TokenNeed need);
    Task<void> connect(std::string token, std::string session_id);
    Task<Result<std::vector<net::SocketAddress>>> addresses();

    const DeviceOptions& options_;
    const GatewayAddress address_;
    const std::shared_ptr<net::TlsContext> tls_;
    RealClock clock_;
    net::EventLoop loop_;
    Uploader uploader_;
    std::shared_ptr<Gate> gate_;
    HandlerPool handlers_;
    BlockingPool blocking_{1};
    DeviceLink link_;
    std::shared_ptr<Socket> socket_;
    std::shared_ptr<net::WebSocketSession> session_;  // while the link is open
    std::optional<DeviceEnd> end_;
    std::optional<DeviceIdentity> identity_;          // on the blocking thread
    TaskGroup tasks_;
};

}  // namespace crab::sdk
