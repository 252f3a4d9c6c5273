#pragma once

#include "adapters/mcp/client/upstream_exchange.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace crab::mcp {

/// A connection to an upstream that is over, or cannot be used.
inline Error connection_lost(std::string message) {
    return {.code = ErrorCode::kUnavailable, .message = std::move(message)};
}

/// Who reads what a transport brings. It must not destroy the transport from inside.
class TransportReader {
public:
    /// One message, or a batch, as it came. `carrier`: the exchange whose own answer brought it;
    /// null: a stream that all share. False when it is no message of JSON-RPC.
    virtual bool on_message(std::string_view text, UpstreamExchange* carrier) = 0;
    /// Nothing more comes, and nothing more can be sent. Once, not after close().
    virtual void on_end(const Error& why) = 0;

protected:
    ~TransportReader() = default;
};

/// Carries messages to one upstream and back. Used on one event loop; close() before destruction.
class UpstreamTransport {
public:
    virtual ~UpstreamTransport() = default;

    /// Whoever reads, before start().
    void read_for(TransportReader& reader) { reader_ = &reader; }
    /// Starts the child, opens the stream. Errors as in UpstreamConnector::connect().
    virtual Task<Result<void>> start(Deadline deadline) = 0;
    /// Sends the request and waits until it is over, its deadline passes or the coroutine is
    /// cancelled; only in the first case it has a reply or a failure.
    virtual Task<void> run(UpstreamExchange& exchange, Deadline deadline) = 0;
    /// Sends a notification or a response, as far as the upstream is there.
    virtual void send(std::string message) = 0;
    /// The same, and waits until the upstream has it, as far as that can be known.
    virtual Task<void> deliver(std::string message, Deadline) {
        send(std::move(message));
        co_return;
    }
    /// The revision is known: what is sent from now on is of it.
    virtual void opened(Revision revision) { static_cast<void>(revision); }
    /// The opening is over: messages that belong to no request may come. With `questions` it waits
    /// until they can, for a short time, for they may ask what a first request depends on.
    virtual Task<void> ready(bool questions) {
        static_cast<void>(questions);
        co_return;
    }
    /// Whether a request is cancelled upstream by no longer waiting for it.
    virtual bool closing_cancels() const { return false; }
    /// Whether messages that belong to a request come with its answer.
    virtual bool attributes() const { return false; }
    virtual std::string error_tail() const { return {}; }
    /// Ends what is under way and all connections; to be awaited once, from a coroutine that is not
    /// cancelled.
    virtual Task<void> close() = 0;

protected:
    TransportReader& reader() const { return *reader_; }

private:
    TransportReader* reader_ = nullptr;
};

}  // namespace crab::mcp
