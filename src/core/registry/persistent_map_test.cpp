#include "core/registry/persistent_map.hpp"

#include "core/registry/persistent_order.hpp"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using Map = PersistentMap<std::shared_ptr<const int>>;

void expect_equal(const Map& map, const std::map<std::string, int>& model, std::size_t names) {
    for (std::size_t i = 0; i < names; ++i) {
        const std::string name = "n" + std::to_string(i);
        const auto* found = map.find(name);
        const auto it = model.find(name);
        ASSERT_EQ(found != nullptr, it != model.end()) << name;
        if (found != nullptr) ASSERT_EQ(**found, it->second) << name;
    }
}

TEST(PersistentMap, AgreesWithStdMapAndOldCopiesNeverChange) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        constexpr std::size_t kNames = 3000;
        Map map;
        std::map<std::string, int> model;
        std::vector<std::pair<Map, std::map<std::string, int>>> kept;
        for (int step = 0; step < 12'000; ++step) {
            const std::string name = "n" + std::to_string(random() % kNames);
            if (random() % 3 == 0) {
                map = map.erase(name);
                model.erase(name);
            } else {
                map = map.set(name, std::make_shared<const int>(step));
                model[name] = step;
            }
            if (step % 3000 == 0) kept.emplace_back(map, model);
        }
        expect_equal(map, model, kNames);
        for (const auto& [old, then] : kept) expect_equal(old, then, kNames);
    }
}

TEST(PersistentMap, AnEmptyOneFindsAndErasesNothing) {
    const Map map;
    EXPECT_EQ(map.find("a"), nullptr);
    EXPECT_EQ(map.erase("a").find("a"), nullptr);
    EXPECT_EQ(map.set("", std::make_shared<const int>(1)).find("a"), nullptr);
}

std::vector<std::string> names_after(const PersistentOrder<>& order, std::string_view after,
                                     std::size_t limit = SIZE_MAX) {
    std::vector<std::string> names;
    if (limit == 0) return names;
    order.for_each_after(after, [&](std::string_view name) {
        names.emplace_back(name);
        return names.size() < limit;
    });
    return names;
}

TEST(PersistentOrder, AgreesWithStdSetAndOldCopiesNeverChange) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        PersistentOrder<> order;
        std::set<std::string> model;
        std::vector<std::pair<PersistentOrder<>, std::set<std::string>>> kept;
        for (int step = 0; step < 6000; ++step) {
            const std::string name = "n" + std::to_string(random() % 700);
            if (random() % 3 == 0) {
                order = order.erase(name);
                model.erase(name);
            } else {
                order = order.insert(name);
                model.insert(name);
            }
            if (step % 1500 == 0) kept.emplace_back(order, model);
            if (step % 50 == 0) {
                const std::string after = "n" + std::to_string(random() % 700);
                std::vector<std::string> expected(model.upper_bound(after), model.end());
                if (expected.size() > 10) expected.resize(10);
                ASSERT_EQ(names_after(order, after, 10), expected);
            }
        }
        kept.emplace_back(order, model);
        for (const auto& [old, then] : kept)
            ASSERT_EQ(names_after(old, ""), std::vector<std::string>(then.begin(), then.end()));
        for (const std::string& name : model) order = order.erase(name);
        EXPECT_TRUE(order.empty());
    }
}

TEST(PersistentOrder, AgreesWithStdMapAndOldCopiesKeepTheirValues) {
    std::mt19937 random(1);
    PersistentOrder<int> order;
    std::map<std::string, int> model;
    std::vector<std::pair<PersistentOrder<int>, std::map<std::string, int>>> kept;
    for (int step = 0; step < 3000; ++step) {
        const std::string name = "n" + std::to_string(random() % 200);
        if (random() % 4 == 0) {
            order = order.erase(name);
            model.erase(name);
        } else {
            order = order.set(name, step);
            model[name] = step;
        }
        if (step % 500 == 0) kept.emplace_back(order, model);
    }
    kept.emplace_back(order, model);
    for (const auto& [old, then] : kept) {
        std::map<std::string, int> walked;
        old.for_each_after({}, [&](std::string_view name, int value) {
            return walked.emplace(name, value).second;
        });
        ASSERT_EQ(walked, then);
    }
}

TEST(PersistentOrder, TheWalkStopsWhereItIsToldTo) {
    PersistentOrder<> order;
    for (int i = 0; i < 100; ++i) order = order.insert("n" + std::to_string(i));
    int visited = 0;
    order.for_each_after("n5", [&](std::string_view) { return ++visited < 7; });
    EXPECT_EQ(visited, 7);
}

}  // namespace
}  // namespace crab::core
