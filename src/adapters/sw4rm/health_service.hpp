#pragma once

#include "net/grpc/grpc_call.hpp"

#include <unordered_set>

namespace crab::sw4rm {

/// `grpc.health.v1.Health`: open to everybody, SERVING until the gateway stops
/// (docs/protocols/sw4rm.md, section 2). One per event loop.
class HealthService {
public:
    Task<void> check(net::GrpcCall call);
    Task<void> watch(net::GrpcCall call);
    /// Reports NOT_SERVING from now on and notifies watchers.
    void drain();

private:
    void say(net::GrpcCall& call) const;

    std::unordered_set<net::GrpcCall*> watchers_;
    bool serving_ = true;
};

}  // namespace crab::sw4rm
