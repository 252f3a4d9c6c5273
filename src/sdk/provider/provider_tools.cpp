#include "sdk/provider/provider_tools.hpp"

#include "json/writer.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <fmt/format.h>

namespace crab::sdk {

using cetp::Envelope;

void ProviderTools::add(std::string name, std::string description, std::string schema,
                        CetpHandler handler) {
    auto compiled = json::Schema::compile(schema);
    if (!compiled)
        throw std::invalid_argument("tool " + name + ": its schema: " + compiled.error().message);
    if (name.empty() || find(name) != nullptr)
        throw std::invalid_argument("tool `" + name + "`: give each tool a name of its own");
    auto tool =
        std::make_shared<Tool>(Tool{{std::move(name), std::move(description), std::move(schema)},
                                    *std::move(compiled),
                                    std::move(handler)});
    {
        const std::scoped_lock lock(mutex_);
        tools_.push_back(std::move(tool));
    }
    changed();
}

bool ProviderTools::remove(std::string_view name) {
    {
        const std::scoped_lock lock(mutex_);
        if (std::erase_if(tools_, [&](const auto& tool) { return tool->declared.name == name; }) ==
            0)
            return false;
    }
    changed();
    return true;
}

void ProviderTools::on_change(std::function<void()> hook) {
    const std::scoped_lock lock(mutex_);
    on_change_ = std::move(hook);
}

void ProviderTools::changed() const {
    const std::scoped_lock lock(mutex_);
    if (on_change_) on_change_();
}

std::shared_ptr<const ProviderTools::Tool> ProviderTools::find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::ranges::find_if(tools_, [&](const auto& tool) { return tool->declared.name == name; });
    return found != tools_.end() ? *found : nullptr;
}

Envelope ProviderTools::answer(const cetp::MethodCall& call, const CetpCaller& caller,
                               std::size_t most) {
    if (call.method == cetp::kListTools) return Envelope::ok(list());
    if (call.method == cetp::kProviderInfo) return Envelope::ok(info());
    if (call.method != cetp::kExecuteTool)
        return Envelope::error(cetp::code::kToolNotFound,
                               "Unknown method: " + cetp::clean_text(call.method));
    Envelope envelope = execute(call, caller);
    return envelope.data.size() > most ? Envelope::too_large(envelope.data.size(), most) : envelope;
}

Envelope ProviderTools::execute(const cetp::MethodCall& call, const CetpCaller& caller) {
    const std::string name = call.extra("tool_name");
    if (name.empty()) return Envelope::error(cetp::code::kInvalidArgs, "tool_name is missing");
    const auto tool = find(name);
    if (tool == nullptr)
        return Envelope::error(cetp::code::kToolNotFound,
                               "Unknown tool: " + cetp::clean_text(name));
    auto args = cetp::checked_args(call, *tool->compiled);
    if (!args) return Envelope::error(args.error());
    const std::scoped_lock lock(one_at_a_time_);
    try {
        const CetpCall made(name, *std::move(args), call.extra("request_id"), caller);
        const CetpAnswer answer = tool->handler(made);
        if (answer.success()) return Envelope::ok(answer.data());
        return {.code = answer.code(),
                .message = answer.message(),
                .hint = answer.hint(),
                .intent = answer.intent(),
                .retry_after = answer.retry_after()};
    } catch (const std::exception& error) {
        // for the log of this machine, not for the caller
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return Envelope::error(cetp::code::kInternalError, "the tool broke");
    } catch (...) {
        return Envelope::error(cetp::code::kInternalError, "the tool broke");
    }
}

std::string ProviderTools::list() const {
    std::vector<cetp::DeclaredTool> tools;
    const std::scoped_lock lock(mutex_);
    for (const auto& tool : tools_) tools.push_back(tool->declared);
    return cetp::to_wire(tools);
}

std::string ProviderTools::info() const {
    std::string text;
    json::Writer(text)
        .begin_object()
        .key("provider_name")
        .string_lossy(name_)
        .key("description")
        .string_lossy(description_)
        .key("scopes")
        .begin_array()
        .end_array()
        .end_object();
    return text;
}

}  // namespace crab::sdk
