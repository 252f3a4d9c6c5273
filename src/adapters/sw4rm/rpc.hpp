#pragma once

#include "adapters/sw4rm/error_form.hpp"
#include "base/id_source.hpp"
#include "net/grpc/grpc_call.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// The resource that an error concerns, for its trailers.
struct Resource {
    std::string_view type;   ///< `tool`, `call`, `provider`, `worktree`, `approval`
    std::string_view id;
};

/// One RPC of these services: its metadata, and how it ends (docs/protocols/sw4rm.md, sections 2
/// and 7).
class Rpc {
public:
    /// `operation` is the RPC's name, in static storage.
    Rpc(net::GrpcCall call, std::string_view operation);

    net::GrpcCall& grpc() { return call_; }
    std::string_view operation() const { return operation_; }
    /// The caller's, or one made here.
    std::string_view correlation_id() const { return correlation_id_; }
    std::optional<std::string_view> metadata(std::string_view name) const {
        return call_.metadata(name);
    }

    void finish_ok();
    void fail(const Error& error, Resource about = {}, std::span<const net::HttpHeader> more = {});
    void fail(const ErrorForm& form, std::string_view text, Resource about = {},
              std::span<const net::HttpHeader> more = {});
    /// Ends the RPC with an error of the gRPC layer.
    void fail(const net::GrpcFailure& failure);

private:
    net::GrpcCall call_;
    std::string_view operation_;
    std::string correlation_id_;
};

}  // namespace crab::sw4rm
