// Replays spec/transcripts/cetp; each file says what its cases mean.

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/manifest.hpp"
#include "adapters/cetp/names.hpp"
#include "adapters/cetp/refresh_timer.hpp"
#include "adapters/cetp/retry_sequence.hpp"
#include "adapters/cetp/test_support.hpp"
#include "adapters/cetp/tool_set.hpp"
#include "base/test_clock.hpp"
#include "json/value.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

using json::Value;

Value read_cases(const std::string& name) {
    std::ifstream file(std::string(CRAB_SOURCE_DIR) + "/spec/transcripts/cetp/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    auto parsed = Value::parse(text.str());
    EXPECT_TRUE(parsed) << name;
    return *parsed->find("cases");
}

std::string text_of(const Value& object, std::string_view name) {
    return *object.find(name)->as_string();
}
std::int64_t integer_of(const Value& object, std::string_view name) {
    return *object.find(name)->as_int64();
}

TEST(CetpVectors, LabelsComeFromTheLastPartOfAnId) {
    const Value cases = read_cases("labels.json");
    for (const Value& c : *cases.as_array())
        EXPECT_EQ(label_of(text_of(c, "suggestion")), text_of(c, "label")) << c.dump();
}

TEST(CetpVectors, ToolSetsNameEveryToolAndKeepLabels) {
    const Value cases = read_cases("tool_sets.json");
    for (const Value& c : *cases.as_array()) {
        LabelTable::Entries kept;
        for (const auto& [id, label] : *c.find("kept")->as_object())
            kept.emplace(id, *label.as_string());
        LabelTable labels(kept);
        std::vector<ListedProvider> providers;
        for (const Value& p : *c.find("providers")->as_array()) {
            ListedProvider provider{
                .id = text_of(p, "id"),
                .name = "P",
                .suggested = p.find("label") != nullptr ? text_of(p, "label") : "",
                .tools = {}};
            for (const Value& tool : *p.find("tools")->as_array())
                provider.tools.push_back({*tool.as_string(), "", "{}"});
            providers.push_back(std::move(provider));
        }
        const auto set = ToolSet::build(std::move(providers), labels);
        Value routes = Value::object();
        for (const auto& [name, route] : set->routes())
            routes.set(name, Value::array({route.provider_id, route.tool}));
        EXPECT_EQ(routes, *c.find("routes")) << routes.dump();
        Value book = Value::object();
        for (const auto& [id, label] : labels.entries()) book.set(id, label);
        EXPECT_EQ(book, *c.find("labels")) << book.dump();
    }
}

TEST(CetpVectors, EnvelopesAreUnderstoodWhateverTheyHold) {
    const Value cases = read_cases("envelopes.json");
    for (const Value& c : *cases.as_array()) {
        const auto envelope = parse_envelope(text_of(c, "text"));
        ASSERT_EQ(envelope.has_value(), !c.find("envelope")->is_null()) << c.dump();
        if (!envelope) continue;
        EXPECT_EQ(*Value::parse(to_wire(*envelope)), *c.find("envelope")) << c.dump();
        EXPECT_EQ(parse_envelope(to_wire(*envelope)), envelope);
        if (const Value* agent = c.find("agent"))
            EXPECT_EQ(envelope->agent_text(), *agent->as_string());
    }
}

TEST(CetpVectors, ToolListsKeepWhatIsUsable) {
    const Value cases = read_cases("tool_lists.json");
    for (const Value& c : *cases.as_array()) {
        const auto list = test::parse_tool_list(text_of(c, "data"));
        ASSERT_EQ(list.has_value(), !c.find("tools")->is_null()) << c.dump();
        if (!list) continue;
        Value tools = Value::array();
        for (const DeclaredTool& tool : list->tools) {
            tools.push_back(Value::object({{"name", tool.name},
                                           {"description", tool.description},
                                           {"parameters", *Value::parse(tool.parameters)}}));
        }
        EXPECT_EQ(tools, *c.find("tools")) << c.dump();
    }
}

std::string text_of(const RetrySequence::Step& step) {
    switch (step.action) {
        case RetrySequence::Action::kSend: return "send";
        case RetrySequence::Action::kStartSilently: return "start";
        case RetrySequence::Action::kWake: return "wake";
        case RetrySequence::Action::kWait: return fmt::format("wait {}", step.wait.count());
    }
    return "";
}

TEST(CetpVectors, LaddersEndWhenTheirStepsOrTheirTimeAreUsedUp) {
    const Value cases = read_cases("ladders.json");
    for (const Value& c : *cases.as_array()) {
        FakeClock clock;
        RetrySequence sequence(
            {.purpose = text_of(c, "purpose") == "discovery" ? RetrySequence::Purpose::kDiscovery
                                                             : RetrySequence::Purpose::kExecution,
             .may_wake = *c.find("wake")->as_bool(),
             .silent_wait = Milliseconds(integer_of(c, "silent_ms")),
             .wake_wait = Milliseconds(integer_of(c, "wake_ms")),
             .end = clock.steady_now() + Milliseconds(integer_of(c, "left_ms"))});
        Value steps = Value::array();
        int sends = 0;
        while (const auto step = sequence.next(clock.steady_now())) {
            steps.push_back(text_of(*step));
            sends += step->action == RetrySequence::Action::kSend;
            clock.advance(step->wait + Milliseconds(integer_of(c, "step_ms")));
        }
        EXPECT_EQ(steps, *c.find("steps")) << steps.dump();
        EXPECT_LE(sends, 3);
    }
}

TEST(CetpVectors, ABurstOfChangesGivesOneRescan) {
    const Value cases = read_cases("refreshes.json");
    for (const Value& c : *cases.as_array()) {
        RefreshTimer timer;
        Value rescans = Value::array();
        const FakeClock clock;
        const Value::Items& changes = *c.find("changes")->as_array();
        std::size_t next = 0;
        for (std::int64_t ms = 0; ms <= 10'000; ms += 20) {
            const SteadyTime now = clock.steady_now() + Milliseconds(ms);
            if (timer.take(now)) rescans.push_back(ms);
            while (next < changes.size() && *changes[next].as_int64() <= ms) {
                timer.on_change(now);
                ++next;
            }
        }
        EXPECT_EQ(rescans, *c.find("rescans")) << rescans.dump();
    }
}

Value value_of(const ProviderRecord& record) {
    const auto transport = [&] {
        switch (record.transport) {
            case Transport::kDbus: return "dbus";
            case Transport::kExec: return "exec";
            case Transport::kUnix: return "unix";
            case Transport::kBuiltIn: return "built-in";
        }
        return "";
    };
    return Value::object({{"transport", transport()},
                          {"bus", record.bus == Bus::kSystem ? "system" : "session"},
                          {"bus_name", record.bus_name},
                          {"object_path", record.object_path},
                          {"exec", record.exec},
                          {"socket", record.socket},
                          {"desktop_id", record.desktop_id},
                          {"name", record.name},
                          {"label", record.label},
                          {"network", record.network},
                          {"read_home", record.read_home},
                          {"off", record.off_until_allowed}});
}

TEST(CetpVectors, ManifestsGiveARecordAMaskOrADiagnostic) {
    const Value cases = read_cases("manifests.json");
    for (const Value& c : *cases.as_array()) {
        const Reading reading =
            read_manifest(text_of(c, "id"), text_of(c, "text"),
                          {.locale = "de_AT.UTF-8", .runtime_dir = "/run/user/7"});
        if (const Value* error = c.find("error")) {
            ASSERT_FALSE(reading) << c.dump();
            EXPECT_NE(reading.error().message.find(*error->as_string()), std::string::npos)
                << reading.error().message;
            continue;
        }
        ASSERT_TRUE(reading) << c.dump() << reading.error().message;
        const Value& wanted = *c.find("record");
        ASSERT_EQ(reading->has_value(), !wanted.is_null()) << c.dump();
        if (!*reading) continue;
        const Value got = value_of(**reading);
        for (const auto& [name, value] : *wanted.as_object())
            EXPECT_EQ(*got.find(name), value) << name << " of " << c.dump();
    }
}

}  // namespace
}  // namespace crab::cetp
