#pragma once

#include <string>

namespace crab {

/// Who calls, and for what; empty members are left out.
struct CallContext {
    std::string agent_id = "sdk";
    std::string session_id = "sdk";
    std::string platform{};
    std::string channel_id{};
    std::string actor_id{};
    std::string isolation_key{};
    std::string trace_id{};
    std::string request_origin{};  ///< `agent_turn`, `cron`, `operator` or `system`
};

}  // namespace crab
