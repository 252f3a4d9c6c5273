#include "hosts/memory/memory_store.hpp"

#include "base/test_clock.hpp"
#include "store/memory/test_memory_steps.hpp"
#include "store/suite/test_engine.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace crab::store {
namespace {

using namespace memory;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class MemoryStoreTest : public StoreSuite, protected MemorySteps {
protected:
    MemoryStoreTest() { reopen(); }

    void reopen() {
        store.reset();
        store = std::move(engine().stores().open_memory().value());
    }
};

TEST_P(MemoryStoreTest, AnEntryComesBackAsItWasGiven) {
    NewMemory given = entry("Ann's birthday is in May", R"(["people","dates"])");
    given.metadata = R"({"source":"chat"})";
    given.occurred_at = now - 48h;
    write(write_of(MemoryAppend{{given}})).value();
    reopen();
    const auto page = ask(query("birthday"));
    ASSERT_EQ(page.entries.size(), 1u);
    const MemoryEntry& found = page.entries[0];
    EXPECT_EQ(found.entry_id, given.entry_id);
    EXPECT_EQ(found.text, given.text);
    EXPECT_EQ(found.tags, given.tags);
    EXPECT_EQ(found.metadata, given.metadata);
    EXPECT_EQ(found.occurred_at, now - 48h);
    EXPECT_EQ(found.created_at, now);
    EXPECT_GT(found.score.value(), 0);
    EXPECT_EQ(page.next, "");
}

TEST_P(MemoryStoreTest, WordsMatchSo) {
    for (const char* text :
         {"The red car is in the garage", "A red bicycle; no car", "Café au lait, déjà vu",
          "ÜBER-große Straße", "well-known fact: don't panic", "日本 東京", "C++ and C#"}) {
        add(text);
    }
    struct Row {
        std::string_view query;
        std::vector<std::string> found;   // by their beginnings
    };
    const Row rows[] = {
        {"car", {"The red", "A red"}},
        {"CAR Red", {"The red", "A red"}},
        {"red bicycle", {"A red"}},
        {"\"red car\"", {"The red"}},
        {"\"car red\"", {}},
        {"car -bicycle", {"The red"}},
        {"red -\"no car\"", {"The red"}},
        {"red -bi*", {"The red"}},
        {"gar*", {"The red"}},
        {"gar", {}},
        {"b*", {"A red"}},
        {"cafe DEJA", {"Café"}},
        {"café", {"Café"}},
        {"uber strasse", {}},
        {"uber straße", {"ÜBER"}},
        {"UBER große", {"ÜBER"}},
        {"\"uber grosse\"", {}},
        {"\"über große\"", {"ÜBER"}},
        {"well-known", {"well"}},
        {"known-well", {}},
        {"dont", {}},
        {"don't", {"well"}},
        {"東京", {"日本"}},
        {"東*", {"日本"}},
        {"C", {"C++"}},
        {"red AND car", {}},   // `and` is a word like any other
        {"c AND", {"C++"}},
        {"red OR", {}},
        {"NOT", {}},
        {"NEAR(red, car)", {}},
        {"text:red", {}},
        {"red^", {"The red", "A red"}},
        {"\"red", {"The red", "A red"}},
        {"red \"", {"The red", "A red"}},
        {"red '(){}[]:^+*", {"The red", "A red"}},
    };
    for (const Row& row : rows) {
        std::vector<std::string> found = find(row.query);
        std::ranges::sort(found);
        auto expected = row.found;
        std::ranges::sort(expected);
        ASSERT_EQ(found.size(), expected.size()) << row.query;
        for (std::size_t i = 0; i < found.size(); ++i)
            EXPECT_TRUE(found[i].starts_with(expected[i])) << row.query << ": " << found[i];
    }
}

TEST_P(MemoryStoreTest, AQueryWithoutAWordIsNone) {
    add("one");
    now += 1s;
    add("two");
    for (const char* text : {"", "  ", "!?", "\"\"", "*", "-", "-!", "\"...\""})
        EXPECT_THAT(find(text), ElementsAre("two", "one")) << text;
    EXPECT_THAT(find("-one"), ElementsAre("two"));
    EXPECT_THAT(find("-one -two"), IsEmpty());
    EXPECT_FALSE(ask(query("-one")).entries[0].score) << "there is nothing to rank by";
}

TEST_P(MemoryStoreTest, HundredsOfTermsAreNoSyntaxError) {
    add("a b c");
    std::string wanted, excluded = "a", same;
    for (int i = 0; i < 340; ++i) {
        wanted += fmt::format("{} ", i);
        excluded += fmt::format(" -{}", i);
        same += "a ";
    }
    EXPECT_THAT(find(wanted), IsEmpty());
    EXPECT_EQ(find(excluded).size(), 1u);
    EXPECT_EQ(find(same).size(), 1u);
}

TEST_P(MemoryStoreTest, MoreAndRarerAndDenserMatchesRankHigher) {
    add("car car car");
    add("a car among very many other words that make this entry quite a long one");
    add("a car and a boat");
    for (int i = 0; i < 5; ++i) add("a boat");
    EXPECT_THAT(find("car"),
                ElementsAre("car car car", "a car and a boat", testing::StartsWith("a car among")));
    const auto page = ask(query("car"));
    EXPECT_GT(page.entries[0].score.value(), page.entries[1].score.value());
    EXPECT_GT(page.entries[2].score.value(), 0);
}

TEST_P(MemoryStoreTest, EqualScoresAreOrderedByTimeAndThenByAppending) {
    add("car", "[]", now - 2h);
    const auto late = add("car", "[]", now - 1h);
    const auto later = add("car", "[]", now - 1h);
    const auto page = ask(query("car"));
    EXPECT_EQ(page.entries[0].entry_id, later);
    EXPECT_EQ(page.entries[1].entry_id, late);
    EXPECT_EQ(page.entries[0].score, page.entries[2].score);
}

TEST_P(MemoryStoreTest, TimeOrdersGoByWhenItOccurred) {
    add("b", "[]", now - 2h);
    add("c", "[]", now - 1h);
    add("a", "[]", now - 3h);
    for (const char* text : {"", "a* -x", "-x"}) {
        MemoryQuery of = query(text);
        if (text[0] == 'a') of.terms = parse_query_terms("-x");
        of.order = MemoryOrder::kNewest;
        EXPECT_THAT(texts(ask(of)), ElementsAre("c", "b", "a"));
        of.order = MemoryOrder::kOldest;
        EXPECT_THAT(texts(ask(of)), ElementsAre("a", "b", "c"));
    }
    add("b car", "[]", now - 2h);
    add("c car", "[]", now - 1h);
    MemoryQuery words = query("car");
    words.order = MemoryOrder::kOldest;
    EXPECT_THAT(texts(ask(words)), ElementsAre("b car", "c car"));
}

TEST_P(MemoryStoreTest, SinceIsInclusiveAndUntilIsNot) {
    for (int hour = 1; hour <= 4; ++hour)
        add(fmt::format("hour {}", hour), "[]", now + std::chrono::hours(hour));
    for (const char* text : {"", "hour"}) {
        MemoryQuery of = query(text);
        of.order = MemoryOrder::kOldest;
        of.since = now + 2h;
        of.until = now + 4h;
        EXPECT_THAT(texts(ask(of)), ElementsAre("hour 2", "hour 3")) << text;
    }
}

TEST_P(MemoryStoreTest, AllTagsMustMatchExactly) {
    add("one", R"(["a","b"])");
    now += 1s;
    add("two", R"(["b","a","a"])");
    now += 1s;
    add("three", R"(["a"])");
    now += 1s;
    add("four", R"(["A","ab","b\"x"])");
    for (const char* text : {"", "-zero"}) {
        MemoryQuery of = query(text);
        of.tags = R"(["a","b"])";
        EXPECT_THAT(texts(ask(of)), ElementsAre("two", "one"));
        of.tags = R"(["b\"x"])";
        EXPECT_THAT(texts(ask(of)), ElementsAre("four"));
        of.tags = R"(["missing"])";
        EXPECT_THAT(texts(ask(of)), IsEmpty());
    }
    MemoryQuery words = query("t*");
    words.tags = R"(["a"])";
    EXPECT_THAT(texts(ask(words)), UnorderedElementsAre("two", "three"));
    words.tags = R"(["b"])";
    EXPECT_THAT(texts(ask(words)), ElementsAre("two"));
}

TEST_P(MemoryStoreTest, ScopesNeverMix) {
    // Random changes in scopes whose names are as alike as names can be; a model in memory says
    // what each must hold.
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<MemoryScope> scopes;
    for (const char* tenant : {"", "a", "1"}) {
        for (const char* agent : {"", "a", "1:x"}) {
            for (const char* key : {"", "global", "1"})
                scopes.push_back(
                    {.tenant = TenantId(tenant), .agent_id = agent, .isolation_key = key});
        }
    }
    std::map<MemoryScope, std::map<std::string, std::string>> model;  // texts by id
    for (int round = 0; round < 60; ++round) {
        std::vector<MemoryWrite> batch;
        for (int i = 0; i < 12; ++i) {
            scope = scopes[random() % scopes.size()];
            auto& known = model[scope];
            if (random() % 6 == 0) {
                // Ids of another scope mean nothing here.
                const auto& other = model[scopes[random() % scopes.size()]];
                DeleteIds ids;
                for (const auto& [id, text] : other) ids.entry_ids.push_back(id);
                if (!ids.entry_ids.empty()) {
                    const bool own = &other == &known;
                    const auto written = write(write_of(MemoryDelete(ids))).value();
                    EXPECT_EQ(written.deleted, own ? ids.entry_ids.size() : 0);
                    EXPECT_EQ(written.not_found.size(), own ? 0 : ids.entry_ids.size());
                    if (own) known.clear();
                }
            } else if (random() % 20 == 0) {
                EXPECT_EQ(remove(DeleteAll{}).deleted, known.size());
                known.clear();
            } else {
                const std::string text = fmt::format("shared word{} {}", random() % 5, random());
                known[add(text, R"(["t"])")] = text;
            }
        }
        if (round % 6 != 5) continue;  // what is wrong stays wrong, and there are 270 questions
        for (const MemoryScope& one : scopes) {
            scope = one;
            std::vector<std::string> expected;
            for (const auto& [id, text] : model[one]) expected.push_back(text);
            for (MemoryQuery of : {query(""), query("shared"), query("s*"), query("-nothing"),
                                   query("\"shared\" word*")}) {
                of.limit = 1'000;
                of.max_bytes = 1 << 30;
                EXPECT_THAT(texts(ask(of)), testing::UnorderedElementsAreArray(expected));
                of.tags = R"(["t"])";
                EXPECT_THAT(texts(ask(of)), testing::UnorderedElementsAreArray(expected));
            }
        }
        if (HasFailure()) return;
    }
}

TEST_P(MemoryStoreTest, AScoreTellsNothingAboutOtherScopes) {
    add("car and boat");
    add("boat");
    const auto score = ask(query("car")).entries[0].score;
    const MemoryScope mine = scope;
    scope.agent_id = "other";
    for (int i = 0; i < 50; ++i) add("car car car");
    scope = mine;
    EXPECT_EQ(ask(query("car")).entries[0].score, score);
}

TEST_P(MemoryStoreTest, PagesNeitherRepeatNorLoseWhileEntriesComeAndGo) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (const char* text : {"", "common", "common w1*", "-w3"}) {
        for (const MemoryOrder order :
             {MemoryOrder::kRelevance, MemoryOrder::kNewest, MemoryOrder::kOldest}) {
            remove(DeleteAll{});
            const auto add_some = [&](int count) {
                MemoryAppend append;
                for (int i = 0; i < count; ++i) {
                    append.entries.push_back(entry(
                        fmt::format("common w{} {}", random() % 20, std::string(random() % 3, 'x')),
                        random() % 2 == 0 ? R"(["t"])" : "[]"));
                    append.entries.back().occurred_at = now + std::chrono::seconds(random() % 20);
                }
                write(write_of(std::move(append))).value();
            };
            add_some(100);
            add_some(57);
            MemoryQuery of = query(text);
            of.order = order;
            of.limit = 1'000;
            if (random() % 2 == 0) of.tags = R"(["t"])";
            std::vector<std::string> before;
            for (const auto& one : ask(of).entries) before.push_back(one.entry_id);
            std::set<std::string> deleted;
            std::vector<std::string> seen;
            of.limit = 7;
            for (;;) {
                const auto page = ask(of);
                EXPECT_LE(page.entries.size(), 7u);
                for (const auto& one : page.entries) seen.push_back(one.entry_id);
                if (page.next.empty()) break;
                of.after = page.next;
                add_some(3);
                DeleteIds ids;
                for (int i = 0; i < 2 && !before.empty(); ++i)
                    ids.entry_ids.push_back(before[random() % before.size()]);
                if (ids.entry_ids.empty()) continue;
                remove(ids);
                for (const std::string& id : ids.entry_ids) {
                    if (std::ranges::find(seen, id) == seen.end()) deleted.insert(id);
                }
                if (random() % 4 == 0) reopen();
            }
            std::erase_if(before, [&](const std::string& id) { return deleted.contains(id); });
            EXPECT_EQ(seen, before) << text;
        }
    }
}

TEST_P(MemoryStoreTest, APageEndsEarlyToFitAndGoesOnWhereItEnded) {
    for (int i = 0; i < 5; ++i)
        add(std::string(400, static_cast<char>('a' + i)) + " word", "[]",
            now + std::chrono::seconds(i));
    for (const char* text : {"", "word"}) {
        MemoryQuery of = query(text);
        of.order = MemoryOrder::kOldest;
        of.max_bytes = 1'000;
        std::string order;
        int pages = 0;
        do {
            const auto page = ask(of);
            for (const auto& one : page.entries) order += one.text[0];
            of.after = page.next;
            ++pages;
        } while (!of.after.empty());
        EXPECT_EQ(order, "abcde");
        EXPECT_EQ(pages, 3);
        of.max_bytes = 1;
        EXPECT_EQ(ask(of).entries.size(), 1u) << "a page is never empty for the sake of its size";
    }
}

TEST_P(MemoryStoreTest, APlaceOfAnotherQueryIsRefused) {
    for (int i = 0; i < 3; ++i) add("a car");
    MemoryQuery of = query("car");
    of.limit = 1;
    const auto next = ask(of).next;
    for (const std::string& after :
         {std::string("x"), next + "12345678", next.substr(8), std::string(next.size(), '\xff')}) {
        of.after = after;
        const auto page = store->query(scope, of);
        ASSERT_FALSE(page);
        EXPECT_EQ(page.error().code, ErrorCode::kInvalidArgs);
    }
}

TEST_P(MemoryStoreTest, ARepeatedChangeChangesNothingAndAnswersTheSame) {
    const auto append = write_of(MemoryAppend{{entry("once"), entry("only")}}, "same");
    const auto first = write(append).value();
    EXPECT_FALSE(first.repeated);
    for (const bool restarted : {false, true}) {
        if (restarted) reopen();
        auto repeat = append;
        repeat.operation_id = "another";
        repeat.at += 1h;
        for (auto& one : std::get<MemoryAppend>(repeat.change).entries) one.entry_id += "-again";
        const auto second = write(repeat).value();
        EXPECT_TRUE(second.repeated);
        EXPECT_EQ(second.operation_id, first.operation_id);
        EXPECT_EQ(second.entry_ids, first.entry_ids);
        EXPECT_EQ(second.at, first.at);
        EXPECT_EQ(find("").size(), 2u);
    }
    const auto remove_one =
        write_of(MemoryDelete(DeleteIds{{first.entry_ids[0], "nobody"}}), "gone");
    const auto gone = write(remove_one).value();
    auto again = remove_one;
    again.operation_id = "another";
    const auto gone_again = write(again).value();
    EXPECT_EQ(gone_again.deleted, 1u);
    EXPECT_THAT(gone_again.not_found, ElementsAre("nobody"));
    EXPECT_EQ(gone_again.operation_id, gone.operation_id);
    EXPECT_EQ(write(append).value().entry_ids, first.entry_ids)
        << "what was deleted since does not come back";
    EXPECT_EQ(find("").size(), 1u);
}

TEST_P(MemoryStoreTest, ARepeatInTheSameCommitIsOneToo) {
    const auto append = write_of(MemoryAppend{{entry("once")}}, "same");
    const std::vector<MemoryWrite> batch{append, append, append};
    for (const auto& answer : store->write(batch))
        EXPECT_EQ(answer.value().operation_id, append.operation_id);
    EXPECT_EQ(find("once").size(), 1u);
}

TEST_P(MemoryStoreTest, AKeyIsThePrincipalsOwnAndForOneChange) {
    auto append = write_of(MemoryAppend{{entry("mine")}}, "same");
    write(append).value();
    auto other = append;
    other.principal = "caller/bob";
    std::get<MemoryAppend>(other.change).entries[0] = entry("his");
    EXPECT_TRUE(write(other));
    for (const auto& change : std::vector<std::function<void(MemoryWrite&)>>{
             [&](MemoryWrite& w) { std::get<MemoryAppend>(w.change).entries[0].text = "other"; },
             [&](MemoryWrite& w) { std::get<MemoryAppend>(w.change).entries[0].occurred_at = now; },
             [&](MemoryWrite& w) { w.scope.isolation_key = "other"; },
             [&](MemoryWrite& w) { w.scope.agent_id = "other"; },
             [&](MemoryWrite& w) { w.change = MemoryDelete(DeleteAll{}); },
         }) {
        auto changed = append;
        change(changed);
        const auto answer = write(changed);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ErrorCode::kConflict);
    }
    EXPECT_THAT(find(""), UnorderedElementsAre("mine", "his"));
}

TEST_P(MemoryStoreTest, AChangeIsForgottenAfterItsTime) {
    const auto append = write_of(MemoryAppend{{entry("mine")}}, "same");
    write(append).value();
    now += kChangeMemory + 1ms;
    add("later");
    auto late = append;
    late.at = now;
    std::get<MemoryAppend>(late.change).entries[0].entry_id = "new";
    EXPECT_FALSE(write(late).value().repeated);
}

TEST_P(MemoryStoreTest, AScopeHasABoundAndTheOthersDoNotMind) {
    constexpr std::size_t kPart = 1'000;
    for (std::size_t have = 0; have < kMostEntriesPerScope; have += kPart) {
        MemoryAppend append;
        for (std::size_t i = 0; i < kPart; ++i) append.entries.push_back(entry("x"));
        write(write_of(std::move(append))).value();
    }
    const std::vector<MemoryWrite> batch{write_of(MemoryAppend{{entry("too much")}}), [&] {
                                             auto other =
                                                 write_of(MemoryAppend{{entry("elsewhere")}});
                                             other.scope.agent_id = "other";
                                             return other;
                                         }()};
    const auto answers = store->write(batch);
    ASSERT_FALSE(answers[0]);
    EXPECT_EQ(answers[0].error().code, ErrorCode::kRateLimited);
    EXPECT_FALSE(answers[0].error().may_retry());
    EXPECT_TRUE(answers[1]);

    const auto last = ask(query("")).entries[0].entry_id;
    EXPECT_EQ(remove(DeleteIds{{last}}).deleted, 1u);
    EXPECT_FALSE(write(write_of(MemoryAppend{{entry("two"), entry("many")}})))
        << "all of them or none";
    EXPECT_TRUE(write(batch[0])) << "a refusal is not remembered";
    EXPECT_EQ(remove(DeleteAll{}).deleted, kMostEntriesPerScope);
    EXPECT_THAT(find(""), IsEmpty());
    EXPECT_THAT(find("x*"), IsEmpty());
}

TEST_P(MemoryStoreTest, DeletesTakeWhatTheyNameAndNothingElse) {
    const auto a = add("a car", R"(["x"])", now - 3h), b = add("b car", R"(["x","y"])", now - 2h),
               c = add("c car", "[]", now - 1h);
    const auto gone = remove(DeleteIds{{a, "nobody", a, "nobody"}});
    EXPECT_EQ(gone.deleted, 1u);
    EXPECT_THAT(gone.not_found, ElementsAre("nobody"));
    EXPECT_THAT(find("car"), UnorderedElementsAre("b car", "c car"));
    EXPECT_EQ(remove(DeleteBefore{.before = now - 2h}).deleted, 0u) << "before is exclusive";
    EXPECT_EQ(remove(DeleteBefore{.before = now, .tags = R"(["x","z"])"}).deleted, 0u);
    EXPECT_EQ(remove(DeleteBefore{.before = now, .tags = R"(["x"])"}).deleted, 1u);
    EXPECT_THAT(find("car"), ElementsAre("c car"));
    add("d car");
    EXPECT_EQ(remove(DeleteBefore{.before = now}).deleted, 1u);
    EXPECT_THAT(find("car"), ElementsAre("d car"));
    EXPECT_EQ(remove(DeleteAll{}).deleted, 1u);
    EXPECT_EQ(remove(DeleteAll{}).deleted, 0u);
    EXPECT_THAT(find("car"), IsEmpty());
    EXPECT_THAT(find(""), IsEmpty());
    MemoryQuery tagged = query("");
    tagged.tags = R"(["x"])";
    EXPECT_THAT(texts(ask(tagged)), IsEmpty());
}

CRAB_EACH_ENGINE(MemoryStoreTest);

}  // namespace
}  // namespace crab::store
