#include "hosts/cron/cron_tools.hpp"

#include <string>
#include <utility>

namespace crab::cron {
namespace {

// What the schemas cannot say (the schedule, the zone, the input's size) is checked in
// cron_host.cpp.

constexpr std::string_view kJobRequired =
    R"("job_id","name","schedule","timezone","event_type","tenant_id","agent_id","session_id",)"
    R"("input","missed_tick_policy","enabled",)"
    R"("created_at","updated_at","next_run_at")";

constexpr std::string_view kJobProperties =
    R"("job_id":{"type":"string","format":"uuid"},"name":{"type":"string"},)"
    R"("schedule":{"type":"string"},"timezone":{"type":"string"},)"
    R"("event_type":{"type":"string"},"tenant_id":{"type":"string"},"agent_id":{"type":"string"},)"
    R"("session_id":{"type":"string"},)"
    R"("isolation_key":{"type":"string"},"input":{"type":"object"},)"
    R"("missed_tick_policy":{"type":"string"},"enabled":{"type":"boolean"},)"
    R"("created_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string",)"
    R"("format":"date-time"},)"
    R"("next_run_at":{"type":"string","format":"date-time"},"last_run_at":{"type":"string",)"
    R"("format":"date-time"})";

constexpr std::string_view kCreateInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"required":["name","schedule"],"properties":{)"
    R"("name":{"description":"For people; need not be unique.","type":"string","minLength":1,)"
    R"("maxLength":128},)"
    R"("schedule":{"description":"Five fields: minute, hour, day, month, weekday,)"
    R"( such as `30 7 * * MON-FRI`; or @hourly, @daily, @weekly, @monthly, @yearly.",)"
    R"("type":"string","minLength":1,"maxLength":512},)"
    R"("timezone":{"description":"The IANA name of the zone that the schedule is meant in,)"
    R"( such as Europe/Berlin.","type":"string","minLength":1,"maxLength":64,"default":"UTC"},)"
    R"("event_type":{"type":"string","enum":["cron.triggered","heartbeat.tick"],)"
    R"("default":"cron.triggered"},)"
    R"("input":{"description":"Given back with every firing, at most 64 KiB.","type":"object"},)"
    R"("missed_tick_policy":{"description":"After downtime: skip drops what was missed,)"
    R"( run_once fires once for the latest missed minute.","type":"string","enum":["skip",)"
    R"("run_once"],"default":"skip"},)"
    R"("enabled":{"type":"boolean","default":true}}})";

std::string create_output() {
    std::string schema =
        R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
        R"("required":["operation_id",)";
    schema.append(kJobRequired)
        .append(R"(],"properties":{"operation_id":{"type":"string","format":"uuid"},)")
        .append(kJobProperties)
        .append("}}");
    return schema;
}

constexpr std::string_view kListInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"properties":{)"
    R"("limit":{"type":"integer","minimum":1,"maximum":1000,"default":100},)"
    R"("cursor":{"description":"next_cursor of the page before.","type":"string","minLength":1,)"
    R"("maxLength":64}}})";

std::string list_output() {
    std::string schema =
        R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
        R"("required":["jobs"],"properties":{)"
        R"("jobs":{"description":"Oldest first.","type":"array","items":{"type":"object",)"
        R"("required":[)";
    schema.append(kJobRequired).append(R"(],"properties":{)").append(kJobProperties);
    schema.append(
        R"(}}},"next_cursor":{"description":"Leads to the next page; absent on the last.",)"
        R"("type":"string"}}})");
    return schema;
}

constexpr std::string_view kRemoveInput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,"required":["job_id"],"properties":{)"
    R"("job_id":{"type":"string","minLength":1,"maxLength":64}}})";

constexpr std::string_view kRemoveOutput =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("required":["operation_id","deleted","job_id"],"properties":{)"
    R"("operation_id":{"type":"string","format":"uuid"},"deleted":{"const":true},)"
    R"("job_id":{"type":"string"}}})";

core::ToolSpec tool(std::string_view name, std::string_view title, std::string_view description,
                    std::string_view input, std::string output) {
    core::ToolSpec spec;
    spec.name = name;
    spec.title = title;
    spec.description = description;
    spec.input_schema = input;
    spec.output_schema = std::move(output);
    spec.default_timeout = Milliseconds(5'000);
    spec.max_timeout = Milliseconds(10'000);
    spec.effects_known = true;
    return spec;
}

}  // namespace

std::vector<core::ToolSpec> cron_tools() {
    auto create = tool(kCreateTool, "Schedule a job",
                       "Creates a job that sends an event to this agent and session at certain "
                       "minutes. Returns the job with its next run.",
                       kCreateInput, create_output());
    create.side_effects = true;
    create.accepts_idempotency_key = true;
    create.annotations = {.read_only = false,
                          .destructive = false,
                          .idempotent = false,
                          .open_world = false,
                          .trusted = true};

    auto list = tool(kListTool, "List jobs",
                     "The jobs of this tenant, oldest first, with their next and latest run.",
                     kListInput, list_output());
    list.idempotent = true;
    list.annotations = {.read_only = true,
                        .destructive = false,
                        .idempotent = true,
                        .open_world = false,
                        .trusted = true};

    auto remove = tool(kRemoveTool, "Remove a job",
                       "Removes a job for good; events that it has fired are still delivered.",
                       kRemoveInput, std::string(kRemoveOutput));
    remove.side_effects = true;
    remove.accepts_idempotency_key = true;
    remove.annotations = {.read_only = false,
                          .destructive = true,
                          .idempotent = false,
                          .open_world = false,
                          .trusted = true};

    return {std::move(create), std::move(list), std::move(remove)};
}

}  // namespace crab::cron
