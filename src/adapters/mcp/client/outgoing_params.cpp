#include "adapters/mcp/client/outgoing_params.hpp"

#include "adapters/mcp/wire/request_meta.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

namespace crab::mcp {
namespace {

std::string own_meta(const OutgoingMeta& meta) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    if (era_of(meta.revision) == Era::kModern) {
        writer.key(kVersionKey).string(name_of(meta.revision));
        writer.key(kCapabilitiesKey).raw(meta.capabilities.empty() ? "{}" : meta.capabilities);
        if (!meta.client_info.empty()) writer.key(kClientInfoKey).raw(meta.client_info);
        if (!meta.log_level.empty()) writer.key(kLogLevelKey).string(meta.log_level);
    }
    if (meta.progress_token) writer.key("progressToken").integer(*meta.progress_token);
    if (!meta.traceparent.empty()) writer.key("traceparent").string(meta.traceparent);
    for (json::RawParts members(meta.more); members.next();)
        writer.key(members.name()).raw(members.value());
    writer.end_object();
    return out;
}

}  // namespace

std::string outgoing_params(std::string_view params, const OutgoingMeta& meta,
                            const OutgoingRound& round) {
    const std::string own = own_meta(meta);
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts members(params); members.next();) {
        if (members.name() == "_meta") continue;
        // What is sent now replaces what was sent before.
        if (members.name() == "inputResponses" && !round.input_responses.empty()) continue;
        if (members.name() == "requestState" && !round.request_state.empty()) continue;
        writer.key(members.name()).raw(members.value());
    }
    if (!round.input_responses.empty()) writer.key("inputResponses").raw(round.input_responses);
    if (!round.request_state.empty()) writer.key("requestState").raw(round.request_state);
    if (own != "{}") writer.key("_meta").raw(own);
    writer.end_object();
    if (out == "{}" && params.empty()) out.clear();
    return out;
}

}  // namespace crab::mcp
