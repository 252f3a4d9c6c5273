#pragma once

#include "adapters/rtp/tool_routes.hpp"

namespace crab::app {

using rtp::append_call_refusal;
using rtp::is_own_user;
using rtp::is_tools_path;
using rtp::method_fits;
using rtp::respond_unknown_path;
using rtp::serve_health;

}  // namespace crab::app
