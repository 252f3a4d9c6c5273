#include "core/call/tool_schemas.hpp"

#include "base/hash.hpp"
#include "base/ordered_mutex.hpp"
#include "json/schema/schema.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

namespace crab::core {
namespace {

/// The schemas that somebody holds, by their text. It holds none itself: with the last tool a
/// schema goes, and so does its place here.
class SharedSchemas {
public:
    std::shared_ptr<const json::Schema> find(std::string_view text) {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(text);
        const auto held = found != known_.end() ? found->second.lock() : nullptr;
        return held ? std::shared_ptr<const json::Schema>(held, held->schema.get()) : nullptr;
    }
    std::shared_ptr<const json::Schema> add(std::string_view text,
                                            std::shared_ptr<const json::Schema> schema) {
        const std::shared_ptr<Held> held(new Held{std::string(text), std::move(schema)},
                                         [this](Held* gone) {
                                             forget(*gone);
                                             delete gone;
                                         });
        const std::scoped_lock lock(mutex_);
        // its key views the text of the one before
        if (const auto old = known_.find(text); old != known_.end()) known_.erase(old);
        known_.emplace(held->text, held);
        return {held, held->schema.get()};
    }
    std::size_t size() {
        const std::scoped_lock lock(mutex_);
        return known_.size();
    }

private:
    struct Held {
        std::string text;
        std::shared_ptr<const json::Schema> schema;
    };
    struct Hash {
        std::size_t operator()(std::string_view text) const { return hash_text(text); }
    };
    void forget(const Held& gone) {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(gone.text);
        if (found != known_.end() && found->first.data() == gone.text.data()) known_.erase(found);
    }

    OrderedMutex<LockRank::kToolSchemas> mutex_;
    std::unordered_map<std::string_view, std::weak_ptr<Held>, Hash> known_;
};

SharedSchemas& known_schemas() {
    static auto& known = *new SharedSchemas;  // tools may outlive everything else
    return known;
}

/// What takes too much of the list, though not too much for one schema.
Error too_much_together(std::size_t left) {
    std::string message = fmt::format(
        "the schemas of all these tools, refused ones included, take too much memory together, "
        "and {} KiB are left for this one; offer fewer or simpler ones",
        left >> 10);
    return {.code = ErrorCode::kOversize, .message = std::move(message)};
}

Result<std::shared_ptr<const json::Schema>> compile(std::string_view text, std::string_view which,
                                                    SchemaBudget& budget) {
    const std::size_t most = budget.most();
    std::size_t spent = 0;
    auto schema = shared_schema(text, most, &spent);
    if (!schema) budget.for_refused -= std::min(budget.for_refused, spent);
    if (!schema && schema.error().code == ErrorCode::kOversize && most < SchemaBudget::kOneSchema)
        return fail(too_much_together(most));
    if (!schema)
        return fail(schema.error().code, fmt::format("the {} schema does not compile: {}", which,
                                                     schema.error().message));
    budget.left -= std::min(budget.left, (*schema)->program_bytes());
    return schema;
}

}  // namespace

Result<std::shared_ptr<const json::Schema>> shared_schema(std::string_view text,
                                                          std::size_t max_program_bytes,
                                                          std::size_t* spent) {
    if (auto known = known_schemas().find(text);
        known && known->program_bytes() <= max_program_bytes)
        return known;
    json::SchemaOptions options;
    options.max_program_bytes = max_program_bytes;
    options.spent = spent;
    auto compiled = json::Schema::compile(text, options);
    if (!compiled) return fail(std::move(compiled.error()));
    return known_schemas().add(text, std::move(*compiled));
}

std::size_t shared_schemas() { return known_schemas().size(); }

std::size_t schema_bytes(const Tool& tool) {
    return (tool.input ? tool.input->program_bytes() : 0) +
           (tool.output ? tool.output->program_bytes() : 0);
}

Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec) {
    SchemaBudget budget{.left = SIZE_MAX};  // what the operator configured, or this program brings
    return make_tool(std::move(spec), budget);
}

Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec, SchemaBudget& budget) {
    if (!is_tool_name(spec.name)) {
        return fail(ErrorCode::kInvalidArgs,
                    "a tool's name is 1 to 128 of A-Z a-z 0-9 _ . -; choose another");
    }
    if (spec.default_timeout.count() < 1 || spec.default_timeout > spec.max_timeout) {
        return fail(ErrorCode::kInvalidArgs,
                    "the default timeout must be at least 1 ms and at most the maximum timeout");
    }
    if (spec.input_schema.empty() || spec.input_schema == "{}")
        spec.input_schema = R"({"type":"object"})";
    auto tool = std::make_shared<Tool>();
    auto input = compile(spec.input_schema, "input", budget);
    if (!input) return fail(std::move(input.error()));
    if (spec.accepts.empty() && !(*input)->may_accept_objects()) {
        return fail(ErrorCode::kInvalidArgs,
                    "no object fits the input schema, but arguments are always one; describe an "
                    "object whose members are the arguments");
    }
    tool->input = std::move(*input);
    if (!spec.output_schema.empty() && spec.output_schema != "{}") {
        auto output = compile(spec.output_schema, "output", budget);
        if (!output) return fail(std::move(output.error()));
        tool->output = std::move(*output);
    }
    if (spec.max_concurrency) tool->gate = std::make_shared<ToolGate>(*spec.max_concurrency);
    tool->spec = std::move(spec);
    tool->set_source({});
    return tool;
}

}  // namespace crab::core
