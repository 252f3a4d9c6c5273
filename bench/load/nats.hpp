#pragma once

#include "load/address.hpp"
#include "load/connection.hpp"
#include "load/driver.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::bench {

/// Request/reply through nats-server in its text protocol: each request has a reply subject of its
/// own lane, and one responder connection answers all of them. Payloads are the same 300 bytes each
/// way as the gateway's, without envelope.
class NatsCallers final : public Transport {
public:
    /// Lane n belongs to connection n % `connections`: one to a lane, or one that carries all of
    /// them (multiplexed).
    NatsCallers(Loop& loop, const Address& server, std::size_t connections, Answers& answers);
    ~NatsCallers() override;

    void start(std::size_t lane) override;

private:
    class Client;
    class Caller;
    class Responder;
    std::unique_ptr<Responder> responder_;
    std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace crab::bench
