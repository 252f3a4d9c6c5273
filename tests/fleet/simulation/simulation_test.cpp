#include "world.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::fleet::simulation {
namespace {

/// A number of the environment, for long runs.
std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

Plan plan_of(std::uint64_t seed) {
    return {.seed = seed,
            .nodes = 2 + static_cast<int>(seed % 4),
            .devices = 1 + static_cast<int>(seed % 3),
            .calls = 30,
            .faults = static_cast<int>(seed % 5) * 12};
}

/// The seeds that have once found a fault.
std::vector<std::uint64_t> kept_seeds() {
    std::vector<std::uint64_t> seeds;
    std::ifstream file(std::string(CRAB_SOURCE_DIR) + "/tests/fleet/simulation/seeds.txt");
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line.front() != '#') seeds.push_back(std::stoull(line));
    return seeds;
}

void add(World::Counts& sum, const World::Counts& one) {
    sum.calls += one.calls;
    sum.ok += one.ok;
    sum.failed += one.failed;
    sum.unknown += one.unknown;
    sum.faults += one.faults;
    sum.starts += one.starts;
    sum.forwarded += one.forwarded;
    sum.adopted += one.adopted;
    sum.resumed += one.resumed;
}

/// Runs a seed; what it broke is said with its history.
World::Counts run(const Plan& plan) {
    const std::uint64_t seed = plan.seed;
    log::configure(log::Level::kOff, log::Format::kText);
    World world(plan);
    const auto broken = world.run();
    for (const std::string& one : broken) ADD_FAILURE() << "seed " << seed << ": " << one;
    if (const char* folder = std::getenv("CRAB_FLEET_HISTORIES");
        folder != nullptr && !broken.empty())
        std::ofstream(std::string(folder) + "/" + std::to_string(seed) + ".txt")
            << text_of(world.history());
    return world.counts();
}

TEST(FleetSimulationTest, NoSeedBreaksAPromise) {
    const std::uint64_t first = number_of("CRAB_FLEET_FIRST_SEED", 1);
    const std::uint64_t count = number_of("CRAB_FLEET_SEEDS", 60);
    World::Counts sum;
    for (std::uint64_t seed = first; seed < first + count; ++seed) add(sum, run(plan_of(seed)));
    std::printf(
        "%llu seeds: %llu faults, %llu calls (%llu forwarded), %llu starts; %llu ok, "
        "%llu not run, %llu unknown; %llu adopted, %llu answered at another node\n",
        static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum.faults),
        static_cast<unsigned long long>(sum.calls), static_cast<unsigned long long>(sum.forwarded),
        static_cast<unsigned long long>(sum.starts), static_cast<unsigned long long>(sum.ok),
        static_cast<unsigned long long>(sum.failed), static_cast<unsigned long long>(sum.unknown),
        static_cast<unsigned long long>(sum.adopted), static_cast<unsigned long long>(sum.resumed));
    EXPECT_GT(sum.forwarded, sum.calls / 3) << "most calls cross nodes";
    EXPECT_GT(sum.ok, sum.calls / 3) << "and most work";
    EXPECT_GT(sum.adopted + sum.resumed, 0u) << "and some go on where their device is now";
}

/// Devices that work long, and nodes that die meanwhile.
Plan plan_of_deaths(std::uint64_t seed) {
    Plan plan = plan_of(seed);
    plan.devices = 2;
    plan.faults = 30;
    plan.long_work = true;
    return plan;
}

TEST(FleetSimulationTest, NoSeedBreaksAPromiseWhenDevicesTakeTheirCallsAlong) {
    const std::uint64_t first = number_of("CRAB_FLEET_FIRST_SEED", 1);
    const std::uint64_t count = number_of("CRAB_FLEET_SEEDS", 40);
    World::Counts sum;
    for (std::uint64_t seed = first; seed < first + count; ++seed)
        add(sum, run(plan_of_deaths(seed)));
    std::printf("%llu seeds: %llu starts, %llu adopted, %llu answered at another node\n",
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum.starts),
                static_cast<unsigned long long>(sum.adopted),
                static_cast<unsigned long long>(sum.resumed));
    EXPECT_GT(sum.adopted, count / 2) << "their nodes die";
    EXPECT_GT(sum.resumed, count / 4) << "or live";
}

TEST(FleetSimulationTest, NoSeedThatFoundAFaultOnceFindsItAgain) {
    for (const std::uint64_t seed : kept_seeds()) run(plan_of(seed));
}

TEST(FleetSimulationTest, TheSameSeedDoesTheSameAgain) {
    World first(plan_of(4)), second(plan_of(4)), other(plan_of(9));
    first.run();
    second.run();
    other.run();
    EXPECT_EQ(text_of(first.history()), text_of(second.history()));
    EXPECT_NE(text_of(first.history()), text_of(other.history()));
}

/// Whether some seed from `first` on finds the fault when a rule is left out.
bool is_found_without(const Database::Without& without, std::uint64_t first) {
    log::configure(log::Level::kOff, log::Format::kText);
    for (std::uint64_t seed = first; seed <= 400; ++seed) {
        Plan plan = without.kept ? plan_of_deaths(seed) : plan_of(seed);
        plan.faults = 25;
        plan.calls = 60;
        plan.without = without;
        if (World(plan).run().empty()) continue;
        std::printf("seed %llu finds it\n", static_cast<unsigned long long>(seed));
        return true;
    }
    return false;
}

TEST(FleetSimulationTest, ATakeOverThatDoesNotEndTheOldRefIsFound) {
    EXPECT_TRUE(is_found_without({.seal = true}, 130));
}

TEST(FleetSimulationTest, ATakeOverOfWhatAnotherNodeStillRunsIsFound) {
    EXPECT_TRUE(is_found_without({.silence = true}, 130));
}

TEST(FleetSimulationTest, ADeviceThatForgetsAnAnswerBeforeItIsRecordedIsFound) {
    EXPECT_TRUE(is_found_without({.kept = true}, 1));
}

}  // namespace
}  // namespace crab::fleet::simulation
