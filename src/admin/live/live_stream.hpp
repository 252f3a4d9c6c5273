#pragma once

#include "admin/live/live_sources.hpp"
#include "admin/live/stream_request.hpp"
#include "net/http/http_exchange.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::admin {

/// One open stream of server-sent events, on the loop of its exchange. All that it holds for a
/// reader who is slow is bounded: counts, some rows, the newest questions.
class LiveStream {
public:
    LiveStream(const LiveSources& sources, StreamRequest request, net::HttpExchange& exchange);
    LiveStream(const LiveStream&) = delete;
    LiveStream& operator=(const LiveStream&) = delete;

    /// Until the reader leaves, falls behind with questions, or the gateway stops.
    Task<void> run();

private:
    void send(std::string_view type, std::string_view json);
    void send_hello();
    void send_open_questions();
    void send_questions();
    void send_calls(SteadyTime now);
    void send_running();
    void send_devices();
    void send_tools();
    void send_pairings();
    Task<void> send_events();
    Task<void> tick(SteadyTime now);

    const LiveSources& sources_;
    const StreamRequest request_;
    net::HttpExchange& exchange_;
    std::shared_ptr<ApprovalFeed::Watcher> questions_;
    std::optional<core::Approvals::Watch> attending_;
    std::shared_ptr<core::CallWatch> calls_;
    SteadyTime calls_sent_;
    std::uint64_t unrecorded_ = 0;
    bool had_calls_ = true, had_running_ = true;  ///< in the tick before
    std::shared_ptr<const DeviceRows> devices_;
    std::uint64_t tools_ = 0;
    std::map<std::string, std::string_view> pairings_;  ///< states by id
    core::EventPosition position_ = 0;
    std::uint64_t ticks_ = 0;
    SteadyTime quiet_since_;
};

}  // namespace crab::admin
