#include "adapters/sw4rm/connector_service.hpp"

#include "adapters/sw4rm/messages.hpp"

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr Milliseconds kMessageTime{10'000};

ToolDescriptor descriptor_of(std::string_view name, const core::Tool& tool) {
    const core::ToolSpec& spec = tool.spec;
    ToolDescriptor descriptor{
        .tool_name = name,
        .input_schema = spec.input_schema,
        .output_schema = spec.output_schema,
        .idempotent = spec.idempotent,
        .needs_worktree = spec.needs_worktree,
        .default_timeout_s = static_cast<std::uint32_t>(
            std::chrono::ceil<std::chrono::seconds>(spec.default_timeout).count()),
        .max_concurrency = spec.max_concurrency.value_or(0),
        .side_effects = {}};
    // The tool says only that there are some, so a caller has to reckon with all kinds.
    if (spec.side_effects) descriptor.side_effects = "filesystem,network,process";
    return descriptor;
}

}  // namespace

std::string_view provider_id_of(const core::Tool& tool) {
    return tool.source.name.empty() ? std::string_view("builtin")
                                    : std::string_view(tool.source.name);
}

Task<void> ConnectorService::describe_tools(Rpc rpc, core::PrincipalRef principal) {
    const Deadline due = rpc.grpc().loop().now() + kMessageTime;
    const auto message = co_await rpc.grpc().read_only(due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    const auto provider = parse_name(*message);
    if (!provider) {
        rpc.fail(form_of(ErrorCode::kInvalidArgs), "the request is not a DescribeToolsRequest");
        co_return;
    }
    std::string answer;
    std::vector<std::pair<std::string_view, core::ToolRef>> tools;
    const auto listed = pipeline_.list(*principal);
    for (const auto& each : listed) {
        if (provider->empty()) tools.emplace_back(each.name, each.tool);
        if (*provider == provider_id_of(*each.tool))
            tools.emplace_back(each.tool->spec.name, each.tool);
    }
    if (tools.empty() && !provider->empty()) {
        rpc.fail(kNoRoute, fmt::format("no provider {} has tools for {}", *provider, principal->id),
                 {.type = "provider", .id = *provider});
        co_return;
    }
    std::ranges::sort(tools, {}, &std::pair<std::string_view, core::ToolRef>::first);
    for (const auto& [name, tool] : tools) to_wire(answer, descriptor_of(name, *tool));
    if (answer.size() > net::GrpcCall::kMostMessageBytes) {
        rpc.fail(form_of(ErrorCode::kOversize),
                 "the descriptions are larger than 4 MiB; ask for one provider_id at a time");
        co_return;
    }
    rpc.grpc().begin_message() += answer;
    rpc.grpc().end_message();
    rpc.finish_ok();
}

Task<void> ConnectorService::register_provider(Rpc rpc, core::PrincipalRef principal) {
    const Deadline due = rpc.grpc().loop().now() + kMessageTime;
    const auto message = co_await rpc.grpc().read_only(due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    const auto registration = parse_provider_registration(*message);
    if (!registration) {
        rpc.fail(form_of(ErrorCode::kInvalidArgs), "the request is not a ProviderRegisterRequest");
        co_return;
    }
    std::vector<OfferedTool> tools;
    for (const ToolDescriptor& descriptor : registration->tools)
        tools.push_back(offered_tool(descriptor));
    const Result<void> taken =
        co_await register_(principal->id, std::string(registration->provider_id), std::move(tools));
    registration_to_wire(rpc.grpc().begin_message(), taken.has_value(),
                         taken ? std::string_view() : taken.error().message);
    rpc.grpc().end_message();
    rpc.finish_ok();
}

}  // namespace crab::sw4rm
