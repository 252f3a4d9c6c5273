#include "bridge/built_in/built_in_provider.hpp"

#include "bridge/built_in/adapter_list.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace crab::bridge {

using cetp::Envelope;

namespace {

/// What a failure of the adapter is on the wire; `waited` is how long the call could take.
Envelope failed(const Error& error, std::chrono::nanoseconds waited) {
    return error.code == ErrorCode::kTimeout ? Envelope::no_answer_within(waited)
                                             : Envelope::error(error);
}

}  // namespace

BuiltInProvider::BuiltInProvider(const AdapterInfo& info, const Sources& sources)
    : info_(info), clock_(sources.loop.clock()), adapter_(info.make(sources)) {
    for (const cetp::DeclaredTool& tool : info.tools) {
        auto schema = json::Schema::compile(tool.parameters);
        if (!schema)
            throw std::logic_error(fmt::format("{}: {}", tool.name, schema.error().message));
        schemas_.emplace(tool.name, *std::move(schema));
    }
}

Task<Envelope> BuiltInProvider::answer(const cetp::MethodCall& call, Deadline deadline) {
    if (call.method == cetp::kListTools) co_return co_await list(deadline);
    if (call.method == cetp::kExecuteTool) co_return co_await execute(call, deadline);
    if (call.method != cetp::kProviderInfo)
        co_return Envelope::error(cetp::code::kToolNotFound,
                                  "Unknown method: " + cetp::clean_text(call.method));
    co_return Envelope::ok(
        json::Value::object({{"provider_name", info_.name},
                             {"description", fmt::format("Reads {}", info_.reads)},
                             {"scopes", json::Value::array()}})
            .dump());
}

Task<Envelope> BuiltInProvider::list(Deadline deadline) {
    const SteadyTime began = clock_.steady_now();
    const auto there = co_await adapter_->check(deadline);
    if (!there) co_return failed(there.error(), deadline - began);
    co_return Envelope::ok(cetp::to_wire(info_.tools));
}

Task<Envelope> BuiltInProvider::execute(const cetp::MethodCall& call, Deadline deadline) {
    const std::string name = call.extra("tool_name");
    if (name.empty()) co_return Envelope::error(cetp::code::kInvalidArgs, "tool_name is missing");
    const auto schema = schemas_.find(name);
    if (schema == schemas_.end())
        co_return Envelope::error(cetp::code::kToolNotFound,
                                  "Unknown tool: " + cetp::clean_text(name));
    const auto text = cetp::checked_args(call, *schema->second);
    if (!text) co_return Envelope::error(text.error());
    const auto args = json::Value::parse(*text);
    if (!args) co_return Envelope::error(args.error());
    const SteadyTime began = clock_.steady_now();
    const auto result = co_await adapter_->run(name, *args, deadline);
    if (!result) co_return failed(result.error(), deadline - began);
    std::string data = result->dump();
    co_return data.size() > cetp::kMaxData ? Envelope::too_large(data.size(), cetp::kMaxData)
                                           : Envelope::ok(std::move(data));
}

std::string built_in_id(const AdapterInfo& info) { return fmt::format("crab.{}", info.label); }

std::vector<cetp::Candidate> built_in_candidates() {
    std::vector<cetp::Candidate> candidates;
    for (const AdapterInfo& info : all_adapters()) {
        cetp::ProviderRecord record{.id = built_in_id(info),
                                    .found_by = cetp::FoundBy::kBuiltIn,
                                    .transport = cetp::Transport::kBuiltIn,
                                    .bus_name = std::string(info.reads),
                                    .name = std::string(info.name),
                                    .label = std::string(info.label),
                                    .off_until_allowed = !info.on};
        candidates.push_back({record.id, "built-in", std::optional(std::move(record))});
    }
    return candidates;
}

cetp::LabelTable::Entries built_in_labels() {
    cetp::LabelTable::Entries labels;
    for (const AdapterInfo& info : all_adapters()) labels.emplace(built_in_id(info), info.label);
    return labels;
}

}  // namespace crab::bridge
