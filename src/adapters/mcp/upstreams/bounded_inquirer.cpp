#include "adapters/mcp/upstreams/bounded_inquirer.hpp"

#include "base/scope_exit.hpp"
#include "base/task/spawn.hpp"
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
    Result<Form> form = Form();
    if (question.kind == core::Question::Kind::kForm) {
        ++compiling_;
        const ScopeExit done([&] { --compiling_; });
        auto work = [params = question.params] { return form_of(params); };
        form = co_await schemas_.run("mcp/" + source_, std::move(work));
    } else {
        co_await yield_to_loop();  // those that were asked with it may have forms
    }
    if (compiling_ == 0) let_go();
    if (!form) co_return fail(std::move(form.error()));
    if (compiling_ > 0) {
        Wakeup go;
        held_.push_back(&go);
        const bool cancelled = co_await go.wait() == WaitEnd::kCancelled;
        std::erase(held_, &go);
        if (cancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled");
    }
    co_return co_await asked_.ask(std::move(question));
}

void BoundedInquirer::let_go() {
    while (!held_.empty()) {
        Wakeup* const first = held_.front();
        held_.pop_front();
        first->wake();
    }
}

}  // namespace crab::mcp
