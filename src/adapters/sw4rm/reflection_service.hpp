#pragma once

#include "net/grpc/grpc_call.hpp"

namespace crab::sw4rm {

/// `grpc.reflection.v1alpha.ServerReflection`: which services there are, and their descriptors, for
/// tools such as grpcurl. Whoever routes to it has made sure that the caller is on this machine
/// (docs/protocols/sw4rm.md, section 2).
Task<void> serve_reflection(net::GrpcCall call);

}  // namespace crab::sw4rm
