// What abi_test.py has described: every type that include/crab shows to users of libcrab.so.
#include <crab/call_context.hpp>
#include <crab/device.hpp>
#include <crab/tool_answer.hpp>
#include <crab/tool_client.hpp>
#include <crab/tool_error.hpp>
#include <crab/tool_handler.hpp>
#include <crab/tool_host.hpp>
#include <crab/tool_request.hpp>

// parameters: abidw describes what a function takes, so this one takes all there is
extern "C" void crab_public_types(  //
    crab::AnswerLater&, crab::CallAttempt&, crab::CallContext&, crab::CallOptions&,
    crab::CallResult&, crab::CancelStatus, crab::Device&, crab::DeviceEnd&, crab::DeviceEvent&,
    crab::DeviceOptions&, crab::DevicePresence&, crab::ExecutionPolicy&, crab::HostTool&,
    crab::LaterHandler&, crab::PairedListener&, crab::StreamCallbacks&, crab::ToolAnswer&,
    crab::ToolClient&, crab::ToolClientOptions&, crab::ToolDefinition&, crab::ToolError&,
    crab::ToolFrame&, crab::ToolHandler&, crab::ToolHost&, crab::ToolInfo&, crab::ToolProgress&,
    crab::ToolRequest&, crab::ToolTraits&) {}
