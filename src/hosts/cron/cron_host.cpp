#include "hosts/cron/cron_host.hpp"

#include "hosts/cron/canonical_json.hpp"
#include "hosts/cron/cron_occurrences.hpp"
#include "hosts/cron/cron_tools.hpp"
#include "json/schema/format.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::cron {
namespace {

constexpr std::size_t kMostPageBytes = std::size_t{4} << 20;   // a reply has 8 MiB

std::string text_or(const json::Value& args, std::string_view name,
                    std::string_view otherwise = {}) {
    const auto* value = args.find(name);
    return value != nullptr && value->as_string() != nullptr ? *value->as_string()
                                                             : std::string(otherwise);
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// What the call asks for, without ids and times, whose schedule and zone nobody has looked at yet.
Result<CronJob> read_job(const core::Call& call, const json::Value& args) {
    if (is_blank(call.tenant))
        return fail(ErrorCode::kInvalidArgs, "a job belongs to a tenant; call with a tenant_id");
    if (is_blank(call.context.agent_id) || is_blank(call.context.session_id)) {
        return fail(ErrorCode::kInvalidArgs,
                    "a job's events go to an agent and a session; call with agent_id and "
                    "session_id in the context");
    }
    CronJob job;
    job.name = text_or(args, "name");
    job.schedule = text_or(args, "schedule");
    job.timezone = text_or(args, "timezone", "UTC");
    const auto type = find_event_type(text_or(args, "event_type", name_of(job.event_type)));
    const auto policy =
        find_missed_tick_policy(text_or(args, "missed_tick_policy", name_of(job.missed_ticks)));
    if (!type || !policy)
        return fail(ErrorCode::kInvalidArgs,
                    "event_type or missed_tick_policy is none of those allowed");
    job.event_type = *type;
    job.missed_ticks = *policy;
    if (const auto* enabled = args.find("enabled")) job.enabled = *enabled->as_bool();
    if (const auto* input = args.find("input")) job.input = input->dump();
    if (job.input.size() > kMostInputBytes)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("/input: at most {} bytes as compact JSON", kMostInputBytes));
    job.tenant = TenantId(std::string(call.tenant));
    job.agent_id = call.context.agent_id;
    job.session_id = call.context.session_id;
    job.isolation_key = call.context.isolation_key;
    return job;
}

/// What repeats of a request must agree in: tool, arguments, agent and isolation key.
std::string content_of(const core::AdmittedCall& call, const json::Value& args) {
    const auto& context = call.call().context;
    json::Value content =
        json::Value::array({call.tool().spec.name, args, context.agent_id, context.isolation_key});
    return canonical_json(content);
}

}  // namespace

Task<core::Outcome> CronHost::run(core::AdmittedCall call, core::FrameSink&) {
    if (const auto& tenant = call.call().tenant;
        !tenant.empty() && !call.principal()->may_act_in(tenant)) {
        co_return fail(ErrorCode::kForbidden, "the jobs of this tenant are not yours");
    }
    const std::string_view name = call.tool().spec.name;
    if (name == kCreateTool) co_return co_await create(call);
    if (name == kListTool) co_return co_await list(call);
    if (name == kRemoveTool) co_return co_await remove(call);
    co_return fail(ErrorCode::kToolNotFound,
                   "the cron host has cron.create, cron.list and cron.remove");
}

std::string CronHost::new_id() {
    const std::scoped_lock lock(ids_mutex_);
    return std::string(services_.ids.uuid_v7().view());
}

CronRequest CronHost::request_of(const core::AdmittedCall& call, std::string content) {
    const core::Call& from = call.call();
    return {.tenant = TenantId(std::string(from.tenant)),
            .principal = call.principal()->id,
            .key = std::string(from.idempotency_key.empty() ? from.id : from.idempotency_key),
            .content = std::move(content),
            .operation_id = new_id(),
            .at = now()};
}

Task<core::Outcome> CronHost::create(core::AdmittedCall call) {
    const auto args = json::Value::parse(call.args());
    if (!args) co_return fail(args.error());
    auto job = read_job(call.call(), *args);
    if (!job) co_return fail(std::move(job.error()));
    const auto schedule = CronSchedule::parse(job->schedule);
    if (!schedule) co_return fail(schedule.error());
    auto request = request_of(call, content_of(call, *args));
    job->job_id = new_id();
    job->created_at = job->updated_at = request.at;

    // Owns what it needs: it may go on after the deadline. A zone's file is read on the pool as
    // well.
    auto store_it = [&store = services_.store, &zones = services_.zones, schedule = *schedule,
                     on_created = services_.on_created, request = std::move(request),
                     job = std::move(*job)]() mutable -> Result<CronCreated> {
        auto zone = zones.find(job.timezone);
        if (!zone) return fail(std::move(zone.error()));
        const auto next = CronOccurrences(schedule, std::move(*zone)).next_after(job.created_at);
        if (!next)
            return fail(ErrorCode::kInvalidArgs, "schedule: it never comes in this time zone");
        job.next_run_at = *next;
        auto created = store.create(request, job, kMostJobsPerTenant);
        if (created) on_created();  // whether or not somebody still waits
        return created;
    };
    const auto created = co_await run_within(services_.pool, std::move(store_it),
                                             services_.timers_here(), call.deadline());
    if (!created) co_return fail(created.error());
    std::string content;
    json::Writer writer(content);
    writer.begin_object().key("operation_id").string(created->operation_id);
    write_members(writer, created->job);
    writer.end_object();
    co_return core::json_result(std::move(content));
}

Task<core::Outcome> CronHost::list(core::AdmittedCall call) {
    const auto args = json::Value::parse(call.args());
    if (!args) co_return fail(args.error());
    const auto* limit_wish = args->find("limit");
    const auto limit =
        static_cast<std::size_t>(limit_wish != nullptr ? limit_wish->as_int64().value_or(1) : 100);
    const std::string cursor = text_or(*args, "cursor");
    if (!cursor.empty() && !json::formats::is_uuid(cursor))
        co_return fail(ErrorCode::kInvalidArgs,
                       "/cursor: not a next_cursor of cron.list; leave it out to start over");
    auto look = [&store = services_.store, tenant = TenantId(std::string(call.call().tenant)),
                 cursor, limit] { return store.list(tenant, cursor, limit, kMostPageBytes); };
    const auto page = co_await run_within(services_.pool, std::move(look), services_.timers_here(),
                                          call.deadline());
    if (!page) co_return fail(page.error());
    std::string content;
    json::Writer writer(content);
    writer.begin_object().key("jobs").begin_array();
    for (const CronJob& job : page->jobs) {
        writer.begin_object();
        write_members(writer, job);
        writer.end_object();
    }
    writer.end_array();
    if (page->more) writer.key("next_cursor").string(page->jobs.back().job_id);
    writer.end_object();
    co_return core::json_result(std::move(content));
}

Task<core::Outcome> CronHost::remove(core::AdmittedCall call) {
    const auto args = json::Value::parse(call.args());
    if (!args) co_return fail(args.error());
    const std::string job_id = text_or(*args, "job_id");
    auto take_away = [&store = services_.store, request = request_of(call, content_of(call, *args)),
                      job_id] { return store.remove(request, job_id); };
    const auto operation_id = co_await run_within(services_.pool, std::move(take_away),
                                                  services_.timers_here(), call.deadline());
    if (!operation_id) co_return fail(operation_id.error());
    std::string content;
    json::Writer(content)
        .begin_object()
        .key("operation_id")
        .string(*operation_id)
        .key("deleted")
        .boolean(true)
        .key("job_id")
        .string(job_id)
        .end_object();
    co_return core::json_result(std::move(content));
}

}  // namespace crab::cron
