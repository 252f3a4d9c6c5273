#pragma once

#include "adapters/mcp/server/endpoint.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "adapters/mcp/wire/post_meaning.hpp"
#include "adapters/mcp/wire/request_headers.hpp"

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What the two files of Endpoint share: its own transport, and HTTP+SSE.
namespace crab::mcp {

/// A POST whose body is a message, or a batch of them. Lives in the frame of Endpoint::post().
struct Endpoint::Post {
    net::HttpExchange& exchange;
    core::PrincipalRef principal;
    Accepted accepted;
    Carrier carrier = Carrier::kHttp;
    NamedSession named = NamedSession::kNone;
    std::shared_ptr<Session> session;  ///< if it is named, and live
    PostFields fields;

    /// Of errors to what could not be read further.
    Era era() const {
        const auto revision = find_revision(fields.version.value_or(""));
        return revision ? era_of(*revision) : Era::kLegacy;
    }
};

/// An error without id.
void refuse(net::HttpExchange& exchange, int status, std::string message,
            std::span<const net::HttpHeader> headers = {});
void respond_error(net::HttpExchange& exchange, int status, const std::optional<RequestId>& id,
                   Era era, const RpcError& error);
bool is_json(std::string_view content_type);

/// What `initialize` says of its client. Errors: why no session is opened.
struct Opening {
    Revision revision = Revision::k2025_11_25;
    ClientCapabilities capabilities;
    ClientIdentity client;
    static std::expected<Opening, RpcError> read(std::string_view params,
                                                 const RevisionSet& versions);
};

}  // namespace crab::mcp
