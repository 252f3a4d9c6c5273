#include "sdk/device_tools.hpp"

#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <stdexcept>

namespace crab::sdk {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxDescription = std::size_t{8} << 10;

bool is_tool_name(std::string_view name) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !name.empty() && name.size() <= kMaxName &&
           name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string compact_schema(const std::string& tool, std::string_view what, std::string_view text) {
    const auto schema = json::Value::parse(text);
    if (!schema)
        throw std::invalid_argument("tool " + tool + ": its " + std::string(what) +
                                    " is not JSON: " + schema.error().message);
    if (!schema->is_object())
        throw std::invalid_argument("tool " + tool + ": its " + std::string(what) +
                                    " must be a JSON object");
    return schema->dump();
}

void append_annotations(json::Writer& writer, const ToolTraits& traits) {
    if (!traits.read_only && !traits.destructive && !traits.idempotent && !traits.open_world)
        return;
    const auto claim = [&](std::string_view name, const std::optional<bool>& value) {
        if (value) writer.key(name).boolean(*value);
    };
    writer.key("annotations").begin_object();
    claim("read_only", traits.read_only);
    claim("destructive", traits.destructive);
    claim("idempotent", traits.idempotent);
    claim("open_world", traits.open_world);
    writer.end_object();
}

}  // namespace

std::shared_ptr<const DeviceTool> make_device_tool(std::string name, std::string description,
                                                   std::string schema, ToolHandler handler,
                                                   const ToolTraits& traits, LaterHandler later) {
    if (!is_tool_name(name))
        throw std::invalid_argument("tool name `" + name +
                                    "`: use 1-128 of letters, digits, `_`, `.` and `-`");
    if (description.empty() || description.size() > kMaxDescription) {
        throw std::invalid_argument("tool " + name + ": describe it in 1-8192 bytes");
    }
    if (!handler && !later) throw std::invalid_argument("tool " + name + ": it has no handler");
    std::string element;
    json::Writer writer(element);
    writer.begin_object().key("name").string(name).key("description").string_lossy(description);
    writer.key("parameters").raw(compact_schema(name, "schema", schema));
    if (!traits.output_schema.empty())
        writer.key("output_schema")
            .raw(compact_schema(name, "output schema", traits.output_schema));
    if (traits.timeout.count() > 0) writer.key("timeout_ms").integer(traits.timeout.count());
    if (traits.max_timeout.count() > 0)
        writer.key("max_timeout_ms").integer(traits.max_timeout.count());
    if (traits.max_concurrency > 0) writer.key("max_concurrency").integer(traits.max_concurrency);
    if (traits.interactive) writer.key("interactive").boolean(true);
    append_annotations(writer, traits);
    writer.end_object();
    return std::make_shared<DeviceTool>(
        DeviceTool{std::move(name), std::move(element), std::move(handler), std::move(later)});
}

void DeviceTools::set(std::shared_ptr<const DeviceTool> tool) {
    const std::scoped_lock lock(mutex_);
    tools_.insert_or_assign(tool->name, std::move(tool));
}

bool DeviceTools::remove(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto found = tools_.find(name);
    if (found == tools_.end()) return false;
    tools_.erase(found);
    return true;
}

void DeviceTools::replace(const std::vector<std::shared_ptr<const DeviceTool>>& tools) {
    decltype(tools_) next;
    for (const auto& tool : tools) next.insert_or_assign(tool->name, tool);
    const std::scoped_lock lock(mutex_);
    tools_.swap(next);
}

std::shared_ptr<const DeviceTool> DeviceTools::find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = tools_.find(name);
    return found != tools_.end() ? found->second : nullptr;
}

std::vector<std::shared_ptr<const DeviceTool>> DeviceTools::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<const DeviceTool>> all;
    for (const auto& [name, tool] : tools_) all.push_back(tool);
    return all;
}

std::size_t DeviceTools::size() const {
    const std::scoped_lock lock(mutex_);
    return tools_.size();
}

}  // namespace crab::sdk
