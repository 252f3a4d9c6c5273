#include "hosts/memory/memory_tools.hpp"

namespace crab::memory {
namespace {

// What the schemas cannot say (that times exist, metadata's size) is checked in
// memory_arguments.cpp.

constexpr std::string_view kAppendInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"required":["entries"],"properties":{)"
    R"("entries":{"description":"What to remember, one thing per entry. All are stored, or none.",)"
    R"("type":"array","minItems":1,"maxItems":100,)"
    R"("items":{"type":"object","additionalProperties":false,"required":["text"],"properties":{)"
    R"("text":{"description":"The memory in words that will be searched for later.",)"
    R"("type":"string","minLength":1,"maxLength":32768},)"
    R"("tags":{"description":"Labels to filter by, compared exactly.",)"
    R"("type":"array","maxItems":32,"items":{"type":"string","minLength":1,"maxLength":64}},)"
    R"("metadata":{"description":"Anything else to keep with it, at most 8 KiB; not searched.",)"
    R"("type":"object"},)"
    R"("occurred_at":{"description":"When it happened, RFC 3339; now if left out.",)"
    R"("type":"string","format":"date-time","maxLength":64}}}}}})";

constexpr std::string_view kAppendOutput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("required":["operation_id","entries"],"properties":{)"
    R"("operation_id":{"type":"string","format":"uuid"},)"
    R"("entries":{"description":"In the order given.","type":"array","items":{"type":"object",)"
    R"("required":["entry_id","created_at"],"properties":{)"
    R"("entry_id":{"type":"string"},"created_at":{"type":"string","format":"date-time"}}}}}})";

constexpr std::string_view kQueryInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"properties":{)"
    R"("query":{"description":"Words that must all occur; case and accents do not matter. )"
    R"(\"a phrase\" must occur as it stands, begin* is any word that begins so,)"
    R"( -word must not occur. )"
    R"(Left out: everything.","type":"string","maxLength":1024},)"
    R"("tags":{"description":"Only entries that have all of these tags.",)"
    R"("type":"array","maxItems":32,"items":{"type":"string","minLength":1,"maxLength":64}},)"
    R"("since":{"description":"Only what occurred at this time or later, RFC 3339.",)"
    R"("type":"string","format":"date-time","maxLength":64},)"
    R"("until":{"description":"Only what occurred before this time, RFC 3339.","type":"string",)"
    R"("format":"date-time","maxLength":64},)"
    R"("order":{"description":"Left out: relevance with a query, newest without.","type":"string",)"
    R"("enum":["relevance","newest","oldest"]},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":100,"default":20},)"
    R"("cursor":{"description":"next_cursor of the page before; everything but limit must be as )"
    R"(it was then.","type":"string","minLength":1,"maxLength":8192}}})";

constexpr std::string_view kQueryOutput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("required":["entries"],"properties":{)"
    R"("entries":{"type":"array","items":{"type":"object","required":["entry_id","text","tags",)"
    R"("metadata","occurred_at","created_at"],"properties":{)"
    R"("entry_id":{"type":"string"},"text":{"type":"string"},"tags":{"type":"array",)"
    R"("items":{"type":"string"}},"metadata":{"type":"object"},)"
    R"("occurred_at":{"type":"string","format":"date-time"},"created_at":{"type":"string",)"
    R"("format":"date-time"},)"
    R"("score":{"description":"Higher fits better; of one query only.","type":"number"}}}},)"
    R"("next_cursor":{"description":"Leads to the next page, for an hour; absent on the last.",)"
    R"("type":"string"}}})";

constexpr std::string_view kDeleteInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"properties":{)"
    R"("entry_ids":{"description":"These entries.","type":"array","minItems":1,"maxItems":100,)"
    R"("items":{"type":"string","minLength":1,"maxLength":64}},)"
    R"("before":{"description":"Entries that occurred before this time, RFC 3339.",)"
    R"("type":"string","format":"date-time","maxLength":64},)"
    R"("tags":{"description":"With before: only entries that have all of these tags.",)"
    R"("type":"array","maxItems":32,"items":{"type":"string","minLength":1,"maxLength":64}},)"
    R"("all":{"description":"Every entry.","const":true}},)"
    R"("oneOf":[{"required":["entry_ids"]},{"required":["before"]},{"required":["all"]}],)"
    R"("dependentRequired":{"tags":["before"]}})";

constexpr std::string_view kDeleteOutput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("required":["operation_id","deleted","not_found"],"properties":{)"
    R"("operation_id":{"type":"string","format":"uuid"},"deleted":{"type":"integer","minimum":0},)"
    R"("not_found":{"description":"Of entry_ids, those that are not there.","type":"array",)"
    R"("items":{"type":"string"}}}})";

core::ToolSpec tool(std::string_view name, std::string_view title, std::string_view description,
                    std::string_view input, std::string_view output) {
    core::ToolSpec spec;
    spec.name = name;
    spec.title = title;
    spec.description = description;
    spec.input_schema = input;
    spec.output_schema = output;
    spec.default_timeout = Milliseconds(30'000);
    spec.max_timeout = Milliseconds(120'000);
    spec.effects_known = true;
    return spec;
}

}  // namespace

std::vector<core::ToolSpec> memory_tools() {
    auto append = tool(
        kAppendTool, "Remember",
        "Stores things to remember for later conversations of this agent. Returns an id for each.",
        kAppendInput, kAppendOutput);
    append.side_effects = true;
    append.accepts_idempotency_key = true;
    append.annotations = {.read_only = false,
                          .destructive = false,
                          .idempotent = false,
                          .open_world = false,
                          .trusted = true};

    auto remove = tool(kDeleteTool, "Forget",
                       "Deletes memories of this agent for good: by entry_ids, or those before a "
                       "time, or all. Give exactly one of the three.",
                       kDeleteInput, kDeleteOutput);
    remove.idempotent = true;
    remove.side_effects = true;
    remove.accepts_idempotency_key = true;
    remove.annotations = {.read_only = false,
                          .destructive = true,
                          .idempotent = true,
                          .open_world = false,
                          .trusted = true};

    auto query = tool(kQueryTool, "Recall",
                      "Searches the memories of this agent by words, tags and time; the best match "
                      "comes first. Without a query: the newest.",
                      kQueryInput, kQueryOutput);
    query.idempotent = true;
    query.annotations = {.read_only = true,
                         .destructive = false,
                         .idempotent = true,
                         .open_world = false,
                         .trusted = true};

    return {std::move(append), std::move(remove), std::move(query)};
}

}  // namespace crab::memory
