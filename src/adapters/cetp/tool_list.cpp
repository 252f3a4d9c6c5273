#include "adapters/cetp/tool_list.hpp"

#include "adapters/cetp/envelope.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

std::string cut(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return std::string(text);
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
    return std::string(text.substr(0, limit));
}

/// A name as diagnostics show it.
std::string shown(std::string_view name) { return clean_text(cut(name, 64)); }

}  // namespace

std::string to_wire(std::span<const DeclaredTool> tools) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("tools").begin_array();
    for (const DeclaredTool& tool : tools) {
        writer.begin_object()
            .key("name")
            .string_lossy(tool.name)
            .key("description")
            .string_lossy(tool.description)
            .key("parameters")
            .raw(tool.parameters)
            .end_object();
    }
    writer.end_array().end_object();
    return text;
}

bool ToolListReader::step(std::chrono::steady_clock::duration slice) {
    const auto began = std::chrono::steady_clock::now();
    if (!begun_) begin();
    while (elements_ && at_ != elements_->end()) {
        const std::size_t left = elements_->size() - index_;
        if (list_.tools.size() == kMaxToolsOfProvider) {
            list_.diagnostics.push_back(fmt::format("{} tools beyond the first {} are left out",
                                                    left, kMaxToolsOfProvider));
            break;
        }
        if (list_.diagnostics.size() == kMaxDropped) {
            list_.diagnostics.push_back(fmt::format(
                "{} tools behind {} that are left out are not looked at", left, kMaxDropped));
            break;
        }
        const json::Element element = *at_;
        ++at_;
        ++index_;
        read(element);
        if (std::chrono::steady_clock::now() - began >= slice) return true;
    }
    return false;
}

void ToolListReader::begin() {
    begun_ = true;
    const auto root = parser_.parse(data_);
    if (!root) {
        problem_.message = "the list of tools is not JSON: " + root.error().message;
        return;
    }
    elements_ = json::get_array(root->element(), "tools");
    if (!elements_) {
        problem_.message = "the answer to list_tools has no `tools`";
        return;
    }
    at_ = elements_->begin();
}

void ToolListReader::read(json::Element element) {
    const auto name = json::get_string(element, "name");
    const auto drop = [this](std::string why) { list_.diagnostics.push_back(std::move(why)); };
    if (!name || name->empty()) return drop("a tool without a name is left out");
    if (std::ranges::find(list_.tools, *name, &DeclaredTool::name) != list_.tools.end()) {
        return drop(fmt::format("tool `{}` is declared twice; the first counts", shown(*name)));
    }
    auto parameters = parameters_of(element);
    if (!parameters) {
        const std::string why = clean_text(parameters.error().message);
        return drop(fmt::format("tool `{}` is left out: {}", shown(*name), why));
    }
    const std::string_view description = json::get_string(element, "description").value_or("");
    list_.tools.push_back(
        {std::string(*name), cut(description, kMaxDescription), *std::move(parameters)});
}

/// The schema as compact JSON. Errors: why it is none.
Result<std::string> ToolListReader::parameters_of(json::Element element) {
    const auto member = json::get(element, "parameters");
    if (!member) return R"({"type":"object"})";
    if (!member->is_object()) return fail(ErrorCode::kInvalidArgs, "its parameters are no object");
    std::string text = json::to_text(*member);
    if (text == "{}") return R"({"type":"object"})";
    if (text.size() > kMaxParameters) {
        return fail(ErrorCode::kOversize,
                    fmt::format("its parameters have more than {} bytes", kMaxParameters));
    }
    if (const auto strict = json::Value::parse(text); !strict) {
        return fail(ErrorCode::kInvalidArgs, "its parameters: " + strict.error().message);
    }
    if (auto compiled = compile(text); !compiled) return fail(std::move(compiled.error()));
    return text;
}

/// A schema that no object fits counts as one that is dropped, whatever it cost.
Result<void> ToolListReader::compile(std::string_view text) {
    std::size_t spent = 0;
    json::SchemaOptions options;
    options.max_program_bytes = std::min(left_, std::max(for_dropped_, kSmall));
    options.spent = &spent;
    const auto schema = json::Schema::compile(text, options);
    const bool fits = schema && (*schema)->may_accept_objects();
    std::size_t& pays = fits ? left_ : for_dropped_;
    pays -= std::min(pays, spent);
    if (!schema) {
        return fail(schema.error().code, "its parameters are no schema: " + schema.error().message);
    }
    if (!fits) return fail(ErrorCode::kInvalidArgs, "no object fits its parameters");
    return {};
}

Result<ToolList> ToolListReader::take() {
    if (!list_.tools.empty()) return std::move(list_);
    if (!list_.diagnostics.empty()) problem_.message = list_.diagnostics.front();
    return fail(problem_);
}

}  // namespace crab::cetp
