#pragma once

#include "adapters/mcp/client/upstream_http.hpp"
#include "adapters/mcp/client/upstream_transport.hpp"
#include "base/task/task_group.hpp"

#include <string>
#include <string_view>

namespace crab::mcp {

/// Streamable HTTP, of the modern revision and of the legacy ones that have it: one POST for each
/// message, its answer JSON or a stream of events. Legacy sessions add an id, a stream of their own
/// (GET), resuming, and a DELETE at the end. Source: docs/protocols/mcp.md, sections 2.3, 2.4, 7.4.
class StreamableTransport final : public UpstreamTransport {
public:
    StreamableTransport(UpstreamHttp::Services services, UpstreamOptions options, net::HttpUrl url);

    Task<Result<void>> start(Deadline) override { co_return Result<void>(); }
    Task<void> run(UpstreamExchange& exchange, Deadline deadline) override;
    void send(std::string message) override;
    Task<void> deliver(std::string message, Deadline deadline) override;
    void opened(Revision revision) override;
    Task<void> ready(bool questions) override;
    bool closing_cancels() const override { return true; }
    bool attributes() const override { return true; }
    Task<void> close() override;

private:
    net::OwnedHeaders headers() const;
    UpstreamBody::OnPart parts_for(UpstreamExchange& exchange, UpstreamBody*& body);
    bool is_legacy() const { return is_opened_ && era_of(revision_) == Era::kLegacy; }
    void settle(UpstreamExchange& exchange, UpstreamBody& body, const net::HttpResult& answer,
                Deadline deadline);
    void settle_refusal(UpstreamExchange& exchange, const UpstreamBody& body);
    Task<void> resume(UpstreamExchange& exchange, const UpstreamBody& first, Deadline deadline);
    Task<void> listen();
    void note_stream();
    void end(std::string why);
    Task<void> pause(Milliseconds time, Deadline deadline);

    UpstreamHttp http_;
    Revision revision_ = Revision::k2026_07_28;
    bool is_opened_ = false;
    bool ended_ = false;
    std::string session_;  ///< `Mcp-Session-Id`; empty: none
    bool stream_known_ = false;  ///< the stream of the session has begun, or there is none
    Waiter* opening_ = nullptr;  ///< waits for that
    TaskGroup tasks_;
};

}  // namespace crab::mcp
