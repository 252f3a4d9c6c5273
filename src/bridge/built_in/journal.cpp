#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/journal_reader.hpp"
#include "bridge/built_in/json_members.hpp"

#include <cstdlib>

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kSystemd = "org.freedesktop.systemd1";

/// Entries of the journal and units that have failed. Logs hold secrets, so it is off by default.
/// Source: sd-journal(3), org.freedesktop.systemd1(5).
class JournalAdapter final : public Adapter {
public:
    explicit JournalAdapter(const Sources& sources)
        : clock_(sources.loop.clock()),
          blocking_(sources.blocking),
          system_(sources.bus(BusKind::kSystem)),
          session_(sources.bus(BusKind::kSession)) {
        if (const char* folder = std::getenv("CRAB_JOURNAL_FOLDER"); folder != nullptr)
            folder_ = folder;
    }

    Task<Result<void>> check(Deadline) override {
        auto find = [folder = folder_] { return find_journal(folder); };
        co_return co_await blocking_.run(std::move(find));
    }

    Task<Result<Value>> run(const std::string& tool, const Value& args,
                            Deadline deadline) override {
        if (tool == "failed_units") co_return co_await failed_units(deadline);
        JournalQuery query{
            .unit = text_in(args, "unit"),
            .priority = static_cast<int>(integer_in(args, "priority", 7)),
            .contains = text_in(args, "contains"),
            .since = clock_.system_now() - std::chrono::minutes(integer_in(args, "minutes", 60)),
            .limit = static_cast<std::size_t>(integer_in(args, "limit", 50)),
            .give_up = deadline - (deadline - clock_.steady_now()) / 4};
        auto read = [folder = folder_, query = std::move(query)] {
            return read_journal(query, folder);
        };
        co_return co_await blocking_.run(std::move(read));
    }

private:
    Task<Result<Value>> failed_units(Deadline deadline) {
        Value answer = Value::object();
        auto of_system = co_await failed_of(system_, deadline);
        auto of_user = co_await failed_of(session_, deadline);
        if (!of_system && !of_user) co_return fail(of_system.error());
        if (of_system) answer.set("system", *std::move(of_system));
        if (of_user) answer.set("user", *std::move(of_user));
        co_return answer;
    }

    Task<Result<Value>> failed_of(BusLink& bus, Deadline deadline) {
        Value states = Value::array({Value("failed")});
        BusCall list{kSystemd,
                     "/org/freedesktop/systemd1",
                     "org.freedesktop.systemd1.Manager",
                     "ListUnitsFiltered",
                     "as",
                     {std::move(states)}};
        const auto values = co_await bus.call(std::move(list), deadline);
        if (!values) co_return fail(values.error());
        Value units = Value::array();
        for (const Value& unit : items_at(*values, 0)) {
            if (!unit.is_array() || unit.as_array()->size() < 5) continue;
            // name, description, load state, active state, sub state, …
            const Value::Items& facts = *unit.as_array();
            units.push_back(Value::object(
                {{"unit", facts[0]}, {"description", facts[1]}, {"state", facts[4]}}));
        }
        co_return units;
    }

    const Clock& clock_;
    BlockingPool& blocking_;
    BusLink& system_;
    BusLink& session_;
    std::optional<std::string> folder_;  // instead of the machine's journal
};

constexpr std::string_view kEntries =
    R"({"type":"object","properties":{)"
    R"("unit":{"type":"string","description":"Of this unit or program alone,)"
    R"( such as nginx.service"},)"
    R"("priority":{"type":"integer","minimum":0,"maximum":7,)"
    R"("description":"At most this severe: 3 errors, 4 warnings, 6 information; 7, the default,)"
    R"( everything"},)"
    R"("contains":{"type":"string","description":"Messages that contain this text"},)"
    R"("minutes":{"type":"integer","minimum":1,"maximum":10080,)"
    R"("description":"Not older than this; default 60"},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":500,"description":"Default 50"}},)"
    R"("additionalProperties":false})";

}  // namespace

AdapterInfo journal_adapter() {
    return {.label = "journal",
            .name = "Logs",
            .reads = "systemd journal",
            .on = false,
            .tools = {{"entries", "Entries of this machine's log, the newest first",
                       std::string(kEntries)},
                      {"failed_units", "Services of this machine that have failed",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<JournalAdapter>(sources);
            }};
}

}  // namespace crab::bridge
