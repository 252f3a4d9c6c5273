#pragma once

#include "net/grpc/grpc_call.hpp"

namespace crab::sw4rm {

/// `grpc.reflection.v1alpha.ServerReflection`: which services there are, and their descriptors, for
/// tools such as grpcurl. The front routes only callers on this machine to it
/// (docs/protocols/sw4rm.md, section 2).
Task<void> serve_reflection(net::GrpcCall call);

}  // namespace crab::sw4rm
