#include "adapters/clawseed/registration.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using json::Element;

// a message holds millions of bad elements, and each of these is told
constexpr std::size_t kMostRejected = 256;

std::size_t depth_of(Element element) {
    std::size_t deepest = 0;
    simdjson::dom::object object;
    simdjson::dom::array array;
    if (element.get(object) == simdjson::SUCCESS) {
        for (const auto member : object) deepest = std::max(deepest, depth_of(member.value));
    } else if (element.get(array) == simdjson::SUCCESS) {
        for (const Element item : array) deepest = std::max(deepest, depth_of(item));
    } else {
        return 0;
    }
    return deepest + 1;
}

/// What the device says of its tool counts, also where that makes the gateway less careful.
void believe(core::ToolSpec& spec) {
    spec.annotations.trusted = true;
    spec.effects_known =
        spec.annotations.read_only.has_value() || spec.annotations.destructive.has_value();
    spec.idempotent =
        spec.annotations.idempotent.value_or(false) || spec.annotations.read_only.value_or(false);
    spec.side_effects =
        spec.annotations.destructive.value_or(false) || !spec.annotations.read_only.value_or(true);
}

/// Claims of the device: unless trusted they only make the gateway more careful, so `read_only` and
/// `idempotent` count for nothing.
void read_claims(Element element, bool believed, core::ToolSpec& spec) {
    if (const auto value = json::get_int64(element, "max_timeout_ms"); value && *value >= 1)
        spec.max_timeout = std::min(spec.max_timeout, Milliseconds(*value));
    if (const auto value = json::get_int64(element, "timeout_ms"); value && *value >= 1)
        spec.default_timeout = Milliseconds(*value);
    if (const auto value = json::get_int64(element, "max_concurrency");
        value && *value >= 1 && *value <= 1'000'000)
        spec.max_concurrency = static_cast<std::uint32_t>(*value);
    if (const auto schema = json::get_object(element, "output_schema"))
        spec.output_schema = json::to_text(Element(*json::get(element, "output_schema")));
    spec.interactive = json::get_bool(element, "interactive").value_or(false);
    if (const auto claims = json::get(element, "annotations"); claims && claims->is_object()) {
        spec.annotations.read_only = json::get_bool(*claims, "read_only");
        spec.annotations.destructive = json::get_bool(*claims, "destructive");
        spec.annotations.idempotent = json::get_bool(*claims, "idempotent");
        spec.annotations.open_world = json::get_bool(*claims, "open_world");
        spec.side_effects = spec.annotations.destructive.value_or(false) ||
                            !spec.annotations.read_only.value_or(true);
    }
    if (believed) believe(spec);
}

void apply_overrides(core::ToolSpec& spec, std::span<const ToolOverride> overrides) {
    for (const ToolOverride& rule : overrides) {
        if (!rule.match.matches(spec.name)) continue;
        if (rule.max_timeout) spec.max_timeout = *rule.max_timeout;
        if (rule.timeout) spec.default_timeout = *rule.timeout;
        if (rule.max_concurrency) spec.max_concurrency = rule.max_concurrency;
        if (rule.trust_annotations.value_or(false)) believe(spec);
        if (rule.idempotent) spec.idempotent = *rule.idempotent;
        if (rule.side_effects) {
            spec.side_effects = *rule.side_effects;
            spec.effects_known = true;
        }
    }
    spec.default_timeout = std::min(spec.default_timeout, spec.max_timeout);
}

}  // namespace

void Registration::reject(Rejected element) {
    ++refused;
    if (rejected.size() < kMostRejected) rejected.push_back(std::move(element));
}

RegistrationReader::RegistrationReader(std::string frame, std::size_t json_depth,
                                       RegistrationContext context)
    : frame_(std::move(frame)),
      parser_({.max_bytes = json::kMostBytes, .max_depth = json_depth}),
      context_(std::move(context)) {}

void RegistrationReader::begin() {
    begun_ = true;
    auto root = parser_.parse(frame_);
    if (!root) return;  // the session has read it before
    list_ = json::get_array(root->element(), "tools");
    if (!list_) return;
    registration_.replace = json::get_bool(root->element(), "replace").value_or(false);
    registration_.count = list_->size();
    at_ = list_->begin();
    if (!registration_.replace) held_ = context_.held.size();
    // Tools that the list names again give back what they take.
    std::set<std::string_view> named;
    std::size_t looked_at = 0;
    for (auto element = list_->begin();
         element != list_->end() && looked_at < context_.limits.elements; ++element, ++looked_at) {
        if (const auto name = json::get_string(*element, "name")) named.insert(*name);
    }
    for (const RegisteredTool& tool : context_.held) {
        if (!registration_.replace && !named.contains(tool.name)) kept_bytes_ += tool.schema_bytes;
    }
    const std::size_t gone =
        kept_bytes_ + (context_.schema_bytes_of_others ? context_.schema_bytes_of_others() : 0);
    budget_.left =
        std::min(core::SchemaBudget::kOneList,
                 context_.limits.schema_bytes - std::min(context_.limits.schema_bytes, gone));
}

bool RegistrationReader::step(std::chrono::steady_clock::duration slice) {
    const auto until = std::chrono::steady_clock::now() + slice;
    if (!begun_) begin();
    while (list_ && at_ != list_->end()) {
        if (index_ == context_.limits.elements) {
            registration_.reject(
                {.index = index_,
                 .name = {},
                 .code = ErrorCode::kRateLimited,
                 .message = fmt::format(
                     "a list has at most {} elements; this one and those behind it are left out",
                     index_)});
            break;
        }
        const Element element = *at_;
        ++at_;
        read(element, index_++);
        if (std::chrono::steady_clock::now() >= until && at_ != list_->end()) return true;
    }
    registration_.schema_bytes = kept_bytes_;
    for (const auto& taken : registration_.taken)
        registration_.schema_bytes += core::schema_bytes(*taken.tool);
    return false;
}

void RegistrationReader::read(Element element, std::size_t index) {
    const std::string_view name = json::get_string(element, "name").value_or("");
    const auto same = taken_.find(name);
    const bool holds =
        !registration_.replace &&
        std::ranges::binary_search(context_.held, name, std::less<>(), &RegisteredTool::name);
    const bool is_known = same != taken_.end() || holds;
    auto tool = make(element, is_known);
    if (!tool) {
        registration_.reject({.index = index,
                              .name = std::string(name.substr(0, 128)),
                              .code = tool.error().code,
                              .message = std::move(tool.error().message)});
    } else if (same != taken_.end()) {
        registration_.taken[same->second] = {.index = index, .tool = std::move(*tool)};
    } else {
        if (!is_known) ++held_;
        taken_.emplace(name, registration_.taken.size());
        registration_.taken.push_back({.index = index, .tool = std::move(*tool)});
    }
}

Result<std::shared_ptr<core::Tool>> RegistrationReader::make(Element element, bool is_known) {
    const RegistrationLimits& limits = context_.limits;
    const auto name = json::get_string(element, "name");
    const auto description = json::get_string(element, "description");
    const auto parameters = json::get(element, "parameters");
    if (!name || !description || !parameters || !parameters->is_object()) {
        return fail(ErrorCode::kInvalidArgs,
                    "a tool needs name and description as strings and parameters as an object");
    }
    if (!core::is_tool_name(*name))
        return fail(ErrorCode::kInvalidArgs, "a name is 1 to 128 of A-Z a-z 0-9 _ . -");
    if (description->size() > limits.description_bytes) {
        return fail(ErrorCode::kOversize, fmt::format("the description has more than {} bytes",
                                                      limits.description_bytes));
    }
    if (name->size() > limits.name_bytes)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("a name has at most {} characters", limits.name_bytes));
    core::ToolSpec spec;
    spec.default_timeout = limits.default_timeout;
    spec.max_timeout = limits.max_timeout;
    spec.name = *name;
    spec.description = *description;
    spec.input_schema = json::to_text(*parameters);
    if (spec.input_schema.size() > limits.parameters_bytes ||
        depth_of(*parameters) > limits.parameters_depth) {
        return fail(ErrorCode::kOversize,
                    fmt::format("parameters are larger than {} bytes or deeper than {}",
                                limits.parameters_bytes, limits.parameters_depth));
    }
    if (context_.registry.is_reserved(*name))
        return fail(ErrorCode::kForbidden,
                    "the name is reserved for a tool of the gateway or of a host; choose another");
    const core::Decision decision =
        context_.policy->decide_registration(*context_.principal, *name);
    if (decision.verdict == core::Verdict::kDeny)
        return fail(ErrorCode::kForbidden,
                    fmt::format("policy refuses the name ({})", decision.rule));
    if (!is_known && held_ >= limits.tools) {
        return fail(ErrorCode::kRateLimited,
                    fmt::format("this connection has {} tools registered, the most there may be; "
                                "unregister some first",
                                held_));
    }
    read_claims(element, context_.believes_claims, spec);
    if (spec.output_schema.size() > limits.parameters_bytes)
        return fail(ErrorCode::kOversize,
                    fmt::format("output_schema is larger than {} bytes", limits.parameters_bytes));
    apply_overrides(spec, context_.overrides);
    return core::make_tool(std::move(spec), budget_);
}

}  // namespace crab::clawseed
