// What the vectors do not say: limits, other record formats, precedence.

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/key_file.hpp"
#include "adapters/cetp/manifest.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/names.hpp"
#include "adapters/cetp/test_support.hpp"
#include "adapters/cetp/tool_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

using testing::HasSubstr;

TEST(CetpEnvelope, DataOfOneMebibyteArrivesAndOneByteMoreIsTooLarge) {
    const std::string most(kMaxData, 'x');
    EXPECT_EQ(parse_envelope(to_wire(Envelope::ok(most)))->data, most);
    const auto more = parse_envelope(to_wire(Envelope::ok(most + "x")));
    EXPECT_EQ(*more, Envelope::error(code::kInternalError, "result too large (1048577 > 1048576)"));
}

TEST(CetpEnvelope, ALongMessageIsCutAtACharacter) {
    std::string message(kMaxText - 1, 'x');
    message += "ä";
    const auto envelope =
        parse_envelope(fmt::format(R"({{"status":"error","error_message":"{}"}})", message));
    EXPECT_EQ(envelope->message, message.substr(0, kMaxText - 1));
}

TEST(CetpEnvelope, OnlyAuthRequiredAsksForAPerson) {
    EXPECT_TRUE(Envelope::error("AUTH_REQUIRED", "sign in").needs_person());
    EXPECT_FALSE(Envelope::error("PERMISSION_DENIED", "no").needs_person());
    EXPECT_FALSE(Envelope::ok("").needs_person());
}

TEST(CetpMethodCall, ACallComesBackFromItsLine) {
    const MethodCall call = MethodCall::execute_tool("balance", R"({"account":"ä"})", "c-1");
    EXPECT_EQ(*parse_method_call(to_wire(call)), call);
    EXPECT_EQ(to_wire(MethodCall::list_tools()), R"({"method":"list_tools","extras":{}})");
    EXPECT_EQ(call.extra("request_id"), "c-1");
    EXPECT_EQ(MethodCall::list_tools().extra("args", "{}"), "{}");
}

TEST(CetpMethodCall, WhatNamesNoMethodIsRefusedAndExtrasThatAreNoTextAreIgnored) {
    for (const std::string_view text : {"", "[]", "{}", R"({"method":7})", R"({"method":""})"})
        EXPECT_FALSE(parse_method_call(text)) << text;
    EXPECT_EQ(parse_method_call(R"({"method":"x","extras":{"a":1,"b":"2"}})")->extras,
              (Extras{{"b", "2"}}));
}

std::string list_of(std::size_t count) {
    std::string text = R"({"tools":[)";
    for (std::size_t i = 0; i < count; ++i)
        text += fmt::format(R"({}{{"name":"t{}"}})", i == 0 ? "" : ",", i);
    return text + "]}";
}

TEST(CetpToolList, TenThousandToolsGiveTheFirstSixtyFourAndADiagnostic) {
    const auto list = test::parse_tool_list(list_of(10'000));
    ASSERT_TRUE(list);
    EXPECT_EQ(list->tools.size(), kMaxToolsOfProvider);
    EXPECT_EQ(list->diagnostics.back(), "9936 tools beyond the first 64 are left out");
}

TEST(CetpToolList, ManyBrokenElementsDoNotMakeManyDiagnostics) {
    std::string text = R"({"tools":[{"name":"good"})";
    for (int i = 0; i < 1000; ++i) text += R"(,{"name":""})";
    const auto list = test::parse_tool_list(text + R"(,{"name":"late"}]})");
    EXPECT_EQ(list->diagnostics.size(), kMaxDropped + 1);
    EXPECT_EQ(list->diagnostics.back(), "937 tools behind 64 that are left out are not looked at");
    EXPECT_EQ(list->tools.size(), 1u);
}

/// A pattern that is large for any engine; from `repeats` of 200 on too large for a whole list.
std::string heavy_tool(std::string_view name, int repeats) {
    std::string text =
        fmt::format(R"({{"name":"{}","parameters":{{"type":"object","properties":{{)", name);
    for (int i = 0; i * 200 < repeats; ++i) {
        if (i > 0) text += ',';
        text += fmt::format(R"("p{}":{{"pattern":"[\\p{{L}}]{{1,{}}}{}{}"}})", i,
                            std::min(repeats, 200), name, i);
    }
    return text + "}}}";
}

TEST(CetpToolList, ManyStepsReadWhatOneReads) {
    const std::string text =
        fmt::format(R"({{"tools":[{},{{"name":"a"}},{},{{"name":""}},{{"name":"b"}}]}})",
                    heavy_tool("x", 20), heavy_tool("y", 20));
    ToolListReader reader(text);
    int steps = 1;
    while (reader.step(std::chrono::seconds(0))) ++steps;
    EXPECT_EQ(steps, 6) << "a turn for each element, and one that finds the end";
    const auto list = reader.take();
    const auto whole = test::parse_tool_list(text);
    EXPECT_EQ(list->tools, whole->tools);
    EXPECT_EQ(list->diagnostics, whole->diagnostics);
    EXPECT_EQ(list->tools.size(), 4u);
}

TEST(CetpToolList, WhatDroppedSchemasCostIsBoundedAndSimpleOnesStayWelcome) {
    std::string text = R"({"tools":[)";
    for (int i = 0; i < 4; ++i) text += heavy_tool(fmt::format("big{}", i), 20'000) + ",";
    text += heavy_tool("fair", 800);
    text += R"(,{"name":"small","parameters":{"properties":{"a":{"type":"string"}}}}]})";
    const auto list = test::parse_tool_list(text);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->tools.size(), 1u);
    EXPECT_EQ(list->tools[0].name, "small");
    EXPECT_THAT(list->diagnostics.front(), HasSubstr("more than 2048 KiB"));
    EXPECT_THAT(list->diagnostics.back(), HasSubstr("more than 64 KiB"));
    EXPECT_TRUE(test::parse_tool_list(R"({"tools":[)" + heavy_tool("fair", 800) + "]}"))
        << "alone it fits";
}

TEST(CetpNames, ANameOfTenThousandCharactersBecomesALegalOne) {
    const std::string tool(10'000, 'x');
    const std::string name = hashed_name(plain_name("p", tool), "org.p", tool);
    EXPECT_EQ(name.size(), kMaxRegisteredName);
    EXPECT_NE(name, hashed_name(plain_name("p", tool), "org.q", tool));
}

TEST(CetpToolSet, TheExcessIsLeftOutByProviderId) {
    std::vector<ListedProvider> providers;
    for (const char* id : {"e", "d", "c", "b", "a"})
        providers.push_back({id, id, "", test::parse_tool_list(list_of(64))->tools});
    LabelTable labels;
    const auto set = ToolSet::build(providers, labels);
    EXPECT_EQ(set->routes().size(), kMaxToolsOfBridge);
    EXPECT_NE(set->find("d__t63"), nullptr);
    EXPECT_EQ(set->find("e__t0"), nullptr);
    EXPECT_EQ(set->diagnostics(),
              std::vector<std::string>{"e: 64 of its tools are left out: there are too many"});
}

TEST(CetpToolSet, ASetIsTheSameExactlyWhenTheGatewaySeesNoDifference) {
    LabelTable labels;
    const auto set_of = [&](std::string_view description) {
        return ToolSet::build({{"a", "A", "", {{"t", std::string(description), "{}"}}}}, labels);
    };
    EXPECT_TRUE(set_of("one")->same_tools(*set_of("one")));
    EXPECT_FALSE(set_of("one")->same_tools(*set_of("two")));
    EXPECT_EQ(set_of("")->find("a__t")->description, "A tool of A");
}

TEST(CetpKeyFile, EscapesAreResolvedAndOthersStay) {
    const auto file = KeyFile::parse("[G]\na=x\\sy\\tz\\\\\nb=C:\\dir\n");
    EXPECT_EQ(file->get("G", "a"), "x y\tz\\");
    EXPECT_EQ(file->get("G", "b"), "C:\\dir");
}

TEST(CetpKeyFile, WhatIsTooLongOrNotUtf8IsRefused) {
    EXPECT_EQ(KeyFile::parse(std::string(KeyFile::kMaxBytes + 1, '#')).error().code,
              ErrorCode::kOversize);
    EXPECT_FALSE(KeyFile::parse("[G]\na=\xff\n"));
}

constexpr std::string_view kEntry = "[Desktop Entry]\nName=Ledger\nExec=ledger\n";

TEST(CetpDesktopEntry, OnlyThoseThatImplementTheInterfaceAreProviders) {
    EXPECT_FALSE(read_desktop_entry("org.example.Ledger", kEntry, {}));
    const auto reading = read_desktop_entry(
        "org.example.Ledger",
        fmt::format("{}Implements=org.other.X;com.clawseed.Cetp.Provider1;\nX-Cetp-Label=money\n",
                    kEntry),
        {});
    ASSERT_TRUE(reading && *reading && **reading);
    const ProviderRecord& record = ***reading;
    EXPECT_EQ(record.bus_name, "org.example.Ledger");
    EXPECT_EQ(record.object_path, "/org/example/Ledger");
    EXPECT_EQ(record.desktop_id, "org.example.Ledger.desktop");
    EXPECT_EQ(record.label, "money");
    EXPECT_FALSE(record.off_until_allowed);
}

TEST(CetpDesktopEntry, AFlatpakIsOffUntilTheUserSaysYesAndAHiddenEntryMasks) {
    const std::string provider = fmt::format("{}Implements=com.clawseed.Cetp.Provider1;\n", kEntry);
    EXPECT_TRUE((**read_desktop_entry("org.example.Ledger",
                                      provider + "X-Flatpak=org.example.Ledger\n", {}))
                    ->off_until_allowed);
    const auto hidden =
        read_desktop_entry("org.example.Ledger", "[Desktop Entry]\nHidden=true\n", {});
    ASSERT_TRUE(hidden && *hidden);
    EXPECT_FALSE(**hidden);
}

TEST(CetpDesktopEntry, AVersionTheBridgeDoesNotSpeakIsSkipped) {
    const auto reading = read_desktop_entry(
        "org.example.Ledger",
        fmt::format("{}Implements=com.clawseed.Cetp.Provider1;\nX-Cetp-Version=2\n", kEntry), {});
    ASSERT_TRUE(reading);
    EXPECT_FALSE(*reading);
}

TEST(CetpBusName, ANameWithTheSuffixIsAProviderThatIsOff) {
    const auto reading = read_activatable_name("org.example.Ledger.Cetp1");
    ASSERT_TRUE(reading);
    EXPECT_EQ((**reading)->id, "org.example.Ledger");
    EXPECT_EQ((**reading)->bus_name, "org.example.Ledger.Cetp1");
    EXPECT_EQ((**reading)->object_path, "/org/example/Ledger/Cetp1");
    EXPECT_TRUE((**reading)->off_until_allowed);
    EXPECT_FALSE(read_activatable_name("org.example.Ledger"));
    EXPECT_FALSE(read_activatable_name(".Cetp1"));
}

Candidate candidate(std::string id, std::string where, Reading reading) {
    return {std::move(id), std::move(where), std::move(reading)};
}
ProviderRecord named(std::string id, std::string name) {
    return {.id = std::move(id), .name = std::move(name)};
}

TEST(CetpChoice, TheFirstOfAnIdCountsAndMasksAndBrokenFilesMask) {
    std::vector<Candidate> candidates;
    candidates.push_back(candidate("a", "/home/a.ini", named("a", "user's")));
    candidates.push_back(candidate("b", "/home/b.ini", std::nullopt));
    candidates.push_back(
        candidate("c", "/home/c.ini", fail(ErrorCode::kInvalidArgs, "line 1: broken")));
    for (const char* id : {"a", "b", "c", "d"})
        candidates.push_back(candidate(id, "/usr", named(id, "system's")));
    const Discovery discovery = choose(std::move(candidates));
    ASSERT_EQ(discovery.records.size(), 2U);
    EXPECT_EQ(discovery.records[0].name, "user's");
    EXPECT_EQ(discovery.records[1].id, "d");
    EXPECT_EQ(discovery.diagnostics, std::vector<std::string>{"/home/c.ini: line 1: broken"});
}

}  // namespace
}  // namespace crab::cetp
