#include "adapters/mcp/server/call_plan.hpp"

#include "adapters/mcp/server/tool_search.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "core/call/artifact.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::string_view kArtifactUri = "crab://artifact/";

std::unexpected<Reply> refused(const ClientRequest& request, std::string_view why) {
    return std::unexpected(Reply::invalid_params(request, why));
}

/// Not found by the era; `why` says more if it is not empty.
std::unexpected<Reply> no_resource(const ClientRequest& request, std::string_view uri,
                                   const std::string& why) {
    if (!why.empty()) return refused(request, why);
    return std::unexpected(Reply::of_error(
        request, resource_not_found(uri, "there is no such resource", request.revision)));
}

std::unexpected<Reply> no_prompt(const ClientRequest& request, std::string_view name,
                                 const std::string& why) {
    return refused(request, why.empty() ? fmt::format("there is no prompt {}", name) : why);
}

bool is_artifact_uri(std::string_view uri) {
    return uri.starts_with(kArtifactUri) && core::is_artifact_id(uri.substr(kArtifactUri.size()));
}

bool has_text_members_only(std::string_view object) {
    for (json::RawParts parts(object); parts.next();)
        if (!parts.value().starts_with('"')) return false;
    return true;
}

/// What a source says that cannot complete.
std::unexpected<Reply> nothing_completes(const ClientRequest& request) {
    return std::unexpected(
        Reply::of_plain(request, R"({"completion":{"values":[],"total":0,"hasMore":false}})"));
}

}  // namespace

CallPlan unplanned(const ClientRequest& request) {
    CallPlan plan{.shape = CallShape::kTool, .tool = {}};
    if (request.method == "prompts/get") plan.shape = CallShape::kGet;
    if (request.method == "completion/complete") plan.shape = CallShape::kComplete;
    if (request.method == "resources/read") {
        plan.shape = CallShape::kRead;
        plan.about = read_name(request.params, "uri").value_or("");
    }
    return plan;
}

ClientIdentity client_of(const ClientRequest& request) {
    if (request.session) return request.session->facts().client;
    return ClientIdentity::read(request.meta.client_info);
}

void fill_call(core::Call& call, const ClientRequest& request, const CallPlan& plan,
               const ClientIdentity& client) {
    call.front = "mcp";
    call.client = {.name = client.name,
                   .version = client.version,
                   .revision = name_of(request.revision),
                   .era = name_of(era_of(request.revision))};
    call.tool = plan.tool;
    call.scope = plan.scope;
    call.args = plan.args();
    // else what is checked would not be what runs
    const bool are_its_own = plan.shape == CallShape::kTool && !plan.inner_args;
    if (are_its_own) call.parsed_args = request.parsed_args;
    call.traceparent = request.meta.traceparent;
    call.idempotency_key = request.meta.idempotency_key;
    if (request.meta.timeout_ms) call.timeout = Milliseconds(*request.meta.timeout_ms);
    call.context.agent_id = client.name;
    if (request.session) call.context.session_id = request.session->facts().label;
    if (request.modern()) call.input_responses = request.meta.beside.input_responses;
}

std::expected<CallPlan, Reply> CallPlans::plan(const ClientRequest& request) {
    if (request.method == "resources/read") return plan_read(request);
    if (request.method == "prompts/get") return plan_get(request);
    if (request.method == "completion/complete") return plan_completion(request);
    return plan_tool(request);
}

CallPlans::Planned CallPlans::plan_tool(const ClientRequest& request) {
    auto name = read_name_value(request.meta.beside.name, "name");
    if (!name) return refused(request, name.error());
    std::string_view arguments = request.meta.beside.arguments;
    if (!arguments.empty() && arguments != "null" && !arguments.starts_with('{'))
        return refused(request, "arguments: an object");
    const auto view = tools_.view_of(request.principal);
    const bool is_searched = view->searched && *name == kCallTool;
    if (is_searched) {
        auto searched = read_searched_call(arguments);
        if (!searched || searched->name == kCallTool || searched->name == kFindTools)
            return refused(request,
                           "call_tool: the name of a tool that find_tools has found, and "
                           "its arguments, an object");
        name = std::move(searched->name);
        arguments = searched->arguments;
    }
    CallPlan plan{.shape = CallShape::kTool, .tool = *name, .given_args = arguments};
    plan.inner_args = is_searched;
    // of the whole view the pipeline knows the other names
    const bool is_whole = tools_.scope().is_whole();
    const auto* const item = is_whole ? view->find(*name) : view->find_by_any_name(*name);
    if (item != nullptr) {
        plan.tool = item->own_name;
    } else {
        plan_absent(plan);
    }
    plan.about = std::move(*name);
    plan.view = catalogs_.view_of(request.principal);
    return plan;
}

/// The pipeline knows whether a call of it has run, and whether its source has yet to say what it
/// has: after a restart "no such tool" may be false.
void CallPlans::plan_absent(CallPlan& plan) const {
    const Scope& scope = tools_.scope();
    if (!scope.is_whole()) plan.scope = &scope.tools;
    const auto renamed = std::ranges::find(
        scope.renamed, plan.tool, [](const auto& each) { return std::string_view(each.second); });
    if (renamed != scope.renamed.end()) plan.tool = renamed->first;
}

CatalogView::Found CallPlans::find_resource(const ClientRequest& request, const CatalogView& view,
                                            std::string_view uri) const {
    MatchBudget budget;
    return view.find_resource(uri, links_.source_of(request.principal->id, uri), budget);
}

bool CallPlans::reads_artifact(const ClientRequest& request) {
    return request.method == "resources/read" &&
           is_artifact_uri(json::find_raw_string(request.params, "uri").value_or(""));
}

CallPlans::Planned CallPlans::plan_read(const ClientRequest& request) {
    auto uri = read_name(request.params, "uri");
    if (!uri) return refused(request, uri.error());
    if (is_artifact_uri(*uri)) {
        CallPlan plan{.shape = CallShape::kArtifact, .tool = {}};
        plan.key = uri->substr(kArtifactUri.size());
        plan.about = std::move(*uri);
        return plan;
    }
    const auto view = catalogs_.view_of(request.principal);
    auto found = find_resource(request, *view, *uri);
    if (!found) return no_resource(request, *uri, found.error());
    CallPlan plan{.shape = CallShape::kRead,
                  .tool = qualified_name(found->source->source, kReadTool)};
    json::Writer(plan.made_args).begin_object().key("uri").string(found->key).end_object();
    plan.key = std::move(found->key);
    plan.about = std::move(*uri);
    plan.view = view;
    return plan;
}

CallPlans::Planned CallPlans::plan_get(const ClientRequest& request) {
    auto name = read_name(request.params, "name");
    if (!name) return refused(request, name.error());
    const auto arguments = json::find_raw(request.params, "arguments");
    if (arguments && *arguments != "null" &&
        (!arguments->starts_with('{') || !has_text_members_only(*arguments)))
        return refused(request, "arguments: an object of strings");
    const auto view = catalogs_.view_of(request.principal);
    auto found = view->find_prompt(*name);
    if (!found) return no_prompt(request, *name, found.error());
    CallPlan plan{.shape = CallShape::kGet,
                  .tool = qualified_name(found->source->source, kGetTool)};
    json::Writer writer(plan.made_args);
    writer.begin_object().key("name").string(found->key);
    if (arguments && *arguments != "null") writer.key("arguments").raw(*arguments);
    writer.end_object();
    plan.key = std::move(found->key);
    plan.about = std::move(*name);
    plan.view = view;
    return plan;
}

CallPlans::Planned CallPlans::plan_completion(const ClientRequest& request) {
    const auto ref = json::find_raw(request.params, "ref").value_or("");
    const auto argument = json::find_raw(request.params, "argument").value_or("");
    const auto context = json::find_raw(request.params, "context");
    const auto type = json::find_raw_string(ref, "type").value_or("");
    const bool of_prompt = type == "ref/prompt";
    if (!of_prompt && type != "ref/resource")
        return refused(request, "ref: of type ref/prompt or ref/resource");
    for (const std::string_view part : {"name", "value"}) {
        if (const auto text = read_name(argument, part); !text)
            return refused(request, fmt::format("argument: {}", text.error()));
    }
    const std::string_view member = of_prompt ? "name" : "uri";
    const auto about = read_name(ref, member);
    if (!about) return refused(request, fmt::format("ref: {}", about.error()));
    const auto view = catalogs_.view_of(request.principal);
    CatalogView::Found found = std::unexpected(std::string());
    if (of_prompt) {
        found = view->find_prompt(*about);
    } else if (const auto* const item = CatalogView::find(view->templates, *about)) {
        found = CatalogView::Target{item->source, item->entry->key};
    } else {
        found = find_resource(request, *view, *about);
    }
    if (!found && of_prompt) return no_prompt(request, *about, found.error());
    if (!found)
        return refused(request,
                       found.error().empty() ? "ref: there is no such resource" : found.error());
    if (!view->may_complete(*found->source)) return nothing_completes(request);
    CallPlan plan{.shape = CallShape::kComplete,
                  .tool = qualified_name(found->source->source, kCompleteTool)};
    json::Writer writer(plan.made_args);
    writer.begin_object().key("ref").begin_object().key("type").string(type);
    writer.key(member).string(found->key).end_object().key("argument").raw(argument);
    if (context && context->starts_with('{') && features_of(request.revision).completion_context)
        writer.key("context").raw(*context);
    writer.end_object();
    plan.view = view;
    return plan;
}

}  // namespace crab::mcp
