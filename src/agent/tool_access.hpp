#pragma once

#include "agent/agent_options.hpp"
#include "core/call/call.hpp"
#include "core/chat/turn.hpp"
#include "core/registry/registry.hpp"

#include <string_view>

namespace crab::agent {

/// The identity and scope with which a turn lists and calls tools. Views its constructor arguments,
/// which must outlive it.
class ToolAccess {
public:
    ToolAccess(const core::TurnRequest& turn, const AgentOptions& agent,
               std::string_view traceparent = {})
        : turn_(turn), agent_(agent), traceparent_(traceparent) {}

    /// Without a policy; the pipeline adds it.
    core::View view() const {
        return {.principal = turn_.principal.get(),
                .policy = nullptr,
                .tenant = tenant(),
                .prefer_source = turn_.prefer_source,
                .prefer = turn_.prefer_connection,
                .scope = &agent_.tools};
    }
    /// Sets the members of `call` that do not depend on the tool.
    void address(core::Call& call) const {
        call.context.agent_id = agent_.name;
        call.acts_for_agent = true;
        call.context.session_id = turn_.session_id;
        call.context.trace_id = turn_.turn_id;
        call.traceparent = traceparent_;
        call.tenant = tenant();
        call.prefer_source = turn_.prefer_source;
        call.prefer_connection = turn_.prefer_connection;
        call.scope = &agent_.tools;
        call.front = turn_.front;
        call.approver = turn_.approver;
        call.approval_stops_clock = true;  // a person thinks as long as the turn has time
    }
    /// The agent's tenant if the principal may act for it, else the principal's own.
    std::string_view tenant() const { return turn_.principal->tenant_for(agent_.tenant); }
    const core::PrincipalRef& principal() const { return turn_.principal; }
    const std::string& session_id() const { return turn_.session_id; }

private:
    const core::TurnRequest& turn_;
    const AgentOptions& agent_;
    const std::string_view traceparent_;  ///< of the turn's span; empty: it has none
};

}  // namespace crab::agent
