#pragma once

#include "net/grpc/grpc_call.hpp"
#include "net/http2/http2_service.hpp"

namespace crab::net {

/// An Http2Service for gRPC: refuses other requests as the protocol requires.
class GrpcService : public Http2Service {
public:
    Task<void> serve(std::shared_ptr<Http2Stream> stream) final;
    /// Answers one call. Returning without finish(), or throwing, resets the stream.
    virtual Task<void> call(GrpcCall call) = 0;
};

}  // namespace crab::net
