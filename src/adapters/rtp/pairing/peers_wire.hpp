#pragma once

#include "adapters/rtp/pairing/pairing_dialer.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "net/http/route_table.hpp"
#include "trust/pairing/pairing_plan.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::rtp {

// The bodies of the operator's routes for pairing and peers. Source: docs/protocols/rtp.md,
// section 7.

/// The body of `POST /v1/pairings`. Errors: kInvalidArgs, also for unknown members.
trust::PairingResult<trust::PairingRequest> parse_pairing(std::string_view body);
/// The one message of `GET /v1/pairings/ws`: the same with `action`, which is `pair.start`. Errors:
/// kInvalidArgs.
trust::PairingResult<trust::PairingRequest> parse_pair_start(std::string_view text);

/// The body of `PATCH /v1/peers/...`; at least one member is set.
struct PeerChange {
    std::optional<trust::PeerStatus> status;  ///< active or inactive
    std::optional<std::string> tool_url;  ///< an `https://` URL; empty: reset to the endpoint
};
/// Errors: kInvalidArgs.
trust::PairingResult<PeerChange> parse_peer_change(std::string_view body);
/// The reason for a revocation: `{"reason"?}` or no body. Errors: kInvalidArgs.
trust::PairingResult<std::string> parse_revocation(std::string_view body);
/// No body, or an object without members. Errors: kInvalidArgs.
trust::PairingResult<void> parse_nothing(std::string_view body);

/// `problem`: why its last connection was refused; empty if it was accepted.
void append_peer(json::Writer& writer, const trust::PeerRecord& peer,
                 std::string_view problem = {});
/// `{"pairing_id","endpoint","peer"}`.
void append_paired(json::Writer& writer, const Paired& paired);
/// `{"action":"pair.result","ok",...}`.
std::string pair_result(const trust::PairingResult<Paired>& outcome);

/// 400 for an invalid request, 409 for a conflict, 504 for a timeout, else 502: the remote failed.
int http_status(trust::PairingCode code);

// Answers that several of these routes give.

/// The peer that `{component_type}` and `{component_id}` of a path name; nothing if it is not a
/// valid peer name: the request has been answered with 404.
std::optional<trust::PeerName> named_peer(net::HttpExchange& exchange,
                                          const net::PathArguments& arguments);
void refuse_pairing(net::HttpExchange& exchange, const trust::PairingError& error);
void respond_peer(net::HttpExchange& exchange, const trust::PeerRecord& peer,
                  std::string_view problem = {});
void respond_unknown_peer(net::HttpExchange& exchange);

}  // namespace crab::rtp
