#include "adapters/mcp/upstreams/bounded_inquirer.hpp"

#include "core/call/tool_schemas.hpp"
#include "json/raw_parts.hpp"
#include "json/schema/schema.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using Form = std::shared_ptr<const json::Schema>;

Result<Form> form_of(std::string_view params) {
    const std::string_view text = json::find_raw(params, "requestedSchema").value_or("{}");
    if (text.size() > BoundedInquirer::kMostText)
        return fail(ErrorCode::kOversize, fmt::format("the requestedSchema of a question has more "
                                                      "than {} bytes",
                                                      BoundedInquirer::kMostText));
    auto form = core::shared_schema(text, BoundedInquirer::kMostProgram);
    if (form) return std::move(*form);
    return fail(form.error().code,
                fmt::format("the requestedSchema of a question: {}", form.error().message));
}

}  // namespace

/// The schema is held until the answer is there: who checks it finds it compiled.
Task<Result<std::string>> BoundedInquirer::ask(core::Question question) {
    Form form;
    if (question.kind == core::Question::Kind::kForm) {
        auto work = [params = question.params] { return form_of(params); };
        auto made = co_await schemas_.run("mcp/" + source_, std::move(work));
        if (!made) co_return fail(std::move(made.error()));
        form = std::move(*made);
    }
    co_return co_await asked_.ask(std::move(question));
}

}  // namespace crab::mcp
