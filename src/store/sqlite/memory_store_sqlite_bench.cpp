// One million entries in 2,000 scopes whose sizes fall as 1/rank, the largest with 100,000; texts
// of 8 to 60 words from a vocabulary whose words fall off as 1/rank too. The file is kept
// (CRAB_BENCH_FOLDER, else the temporary folder), because filling it takes minutes.
//
// 2 cores at 2.6 GHz, shared with other builds, -O2, commit 2026-11-21. Queries, p50 and p99 in ms
// of processor time: a mixture in scopes drawn by their size 0.3 and 19, in any scope 0.16 and 0.8;
// one word in the largest 6 and 17, a prefix of three letters there 20 and 37, the newest 0.07 and
// 0.16. Appends per second, each durable: 1.7 k from 1 caller, 6 k from 16, 10 k from 256, 18 k
// from 2,048. Filling: 9 k entries per second. Deleting 100,000 entries at once: 2.6 s.

#include "base/test_clock.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"

#include "base/id_source.hpp"
#include "base/process/test_folder.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/spawn.hpp"
#include "hosts/memory/write_queue.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include <time.h>

#include <boost/asio/detached.hpp>

namespace crab::store::sqlite {
namespace {

using namespace memory;

constexpr std::size_t kEntries = 1'000'000, kScopes = 2'000, kVocabulary = 30'000;

/// Numbers below `size` that get rarer as 1/rank.
class Ranked {
public:
    Ranked(std::size_t size, double cap) : sums_(size) {
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i)
            sums_[i] = sum += std::min(1.0 / static_cast<double>(i + 1), cap);
    }
    std::size_t operator()(std::mt19937_64& random) const {
        const double at = std::uniform_real_distribution<>(0, sums_.back())(random);
        return static_cast<std::size_t>(std::ranges::upper_bound(sums_, at) - sums_.begin());
    }

private:
    std::vector<double> sums_;
};

class Texts {
public:
    Texts() {
        constexpr std::string_view kSyllables[] = {"ka",  "ri",  "to",  "men", "sol", "ver", "ta",
                                                   "lin", "po",  "gra", "shi", "ne",  "ul",  "dor",
                                                   "be",  "qua", "fi",  "zan", "mo",  "hel"};
        std::mt19937_64 random(7);
        while (words_.size() < kVocabulary) {
            std::string word;
            for (std::size_t syllables = 1 + random() % 4; syllables > 0; --syllables)
                word += kSyllables[random() % std::size(kSyllables)];
            words_.push_back(std::move(word));
        }
    }
    const std::string& word(std::mt19937_64& random) const { return words_[rank_(random)]; }
    /// A word that says something: neither among the commonest nor among the rarest.
    const std::string& telling_word(std::mt19937_64& random) const {
        return words_[20 + random() % 3'000];
    }
    const std::string& commonest() const { return words_[0]; }
    std::string text(std::mt19937_64& random) const {
        std::string text;
        for (std::size_t words = 8 + random() % 53; words > 0; --words) text += word(random) + ' ';
        return text;
    }

private:
    std::vector<std::string> words_;
    Ranked rank_{kVocabulary, 0.3};
};

const Texts& texts() {
    static const Texts made;
    return made;
}
const Ranked& scope_sizes() {
    static const Ranked made(kScopes, 1);
    return made;
}

MemoryScope scope_of(std::size_t number) {
    return {.tenant = TenantId(fmt::format("tenant-{}", number % 50)),
            .agent_id = fmt::format("agent-{}", number / 50),
            .isolation_key = number % 3 == 0 ? "" : fmt::format("person-{}", number)};
}

MemoryWrite append_of(IdSource& ids, std::mt19937_64& random, std::size_t scope, SystemTime at) {
    MemoryAppend append;
    append.entries.push_back(
        {.entry_id = std::string(ids.uuid_v7().view()),
         .text = texts().text(random),
         .tags = random() % 4 == 0 ? fmt::format(R"(["topic-{}"])", random() % 20) : "[]"});
    return {.scope = scope_of(scope),
            .principal = "caller/bench",
            .key = std::string(ids.uuid_v7().view()),
            .operation_id = std::string(ids.uuid_v7().view()),
            .at = at,
            .change = std::move(append)};
}

struct Filled {
    Filled() {
        const char* folder = std::getenv("CRAB_BENCH_FOLDER");
        const auto path = (folder != nullptr ? std::filesystem::path(folder)
                                             : std::filesystem::temp_directory_path()) /
                          "crab_memory_bench.db";
        const bool there = std::filesystem::exists(path);
        store = std::move(MemoryStoreSqlite::open(path, {.durability = Durability::kProcess,
                                                         .check = StartCheck::kNone})
                              .value());
        if (there) return;
        IdSource ids(clock, 11);
        std::mt19937_64 random(11);
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t made = 0; made < kEntries;) {
            std::vector<MemoryWrite> batch;
            for (std::size_t i = 0; i < 1'000; ++i, ++made) {
                clock.advance(std::chrono::seconds(1));
                batch.push_back(append_of(ids, random, scope_sizes()(random), clock.system_now()));
            }
            for (const auto& answer : store->write(batch)) {
                if (!answer && answer.error().code != ErrorCode::kRateLimited) std::abort();
            }
        }
        fmt::print(stderr, "filled with {} entries in {:.0f} s\n", kEntries,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    FakeClock clock;
    std::unique_ptr<MemoryStoreSqlite> store;
};

Filled& filled() {
    static Filled made;
    return made;
}

enum class Ask {
    kWord,
    kTwoWords,
    kPhrase,
    kPrefix,
    kExcluded,
    kTags,
    kNewest,
    kCommonest,
    kCount
};
enum class Where { kAnyEntry, kAnyScope, kLargest };

MemoryQuery query_of(Ask ask, std::mt19937_64& random) {
    const Texts& from = texts();
    MemoryQuery query;
    std::string text;
    switch (ask) {
        case Ask::kWord: text = from.word(random); break;
        case Ask::kTwoWords: text = from.telling_word(random) + ' ' + from.word(random); break;
        case Ask::kPhrase: text = '"' + from.word(random) + ' ' + from.word(random) + '"'; break;
        case Ask::kPrefix: text = from.telling_word(random).substr(0, 3) + '*'; break;
        case Ask::kExcluded: text = from.telling_word(random) + " -" + from.word(random); break;
        case Ask::kTags: query.tags = fmt::format(R"(["topic-{}"])", random() % 20); break;
        case Ask::kNewest: break;
        case Ask::kCommonest: text = from.commonest(); break;
        case Ask::kCount: break;
    }
    query.terms = parse_query_terms(text);
    return query;
}

std::size_t scope_for(Where where, std::mt19937_64& random) {
    switch (where) {
        case Where::kAnyEntry: return scope_sizes()(random);
        case Where::kAnyScope: return random() % kScopes;
        case Where::kLargest: return 0;
    }
    return 0;
}

/// What this thread has computed so far, in milliseconds.
double cpu_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double percentile(std::vector<double> took, double part) {
    std::ranges::sort(took);
    return took[static_cast<std::size_t>(part * static_cast<double>(took.size() - 1))];
}

/// Queries one after the other; counters are percentiles in milliseconds, of the clock and of the
/// processor: on a busy machine the first says more about its neighbours.
void BM_Query(benchmark::State& state) {
    MemoryStoreSqlite& store = *filled().store;
    std::mt19937_64 random(3);
    std::vector<double> took, computed;
    for (auto _ : state) {
        const auto ask = static_cast<Ask>(state.range(0)) == Ask::kCount
                             ? static_cast<Ask>(random() % static_cast<unsigned>(Ask::kCommonest))
                             : static_cast<Ask>(state.range(0));
        const MemoryQuery query = query_of(ask, random);
        const MemoryScope scope = scope_of(scope_for(static_cast<Where>(state.range(1)), random));
        const auto start = std::chrono::steady_clock::now();
        const double cpu_start = cpu_ms();
        if (!store.query(scope, query)) state.SkipWithError("query failed");
        computed.push_back(cpu_ms() - cpu_start);
        took.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                .count());
    }
    state.counters["p50_ms"] = percentile(took, 0.5);
    state.counters["p99_ms"] = percentile(took, 0.99);
    state.counters["p50_cpu"] = percentile(computed, 0.5);
    state.counters["p99_cpu"] = percentile(computed, 0.99);
}
void every_question(benchmark::internal::Benchmark* bench) {
    for (int where = 0; where <= static_cast<int>(Where::kLargest); ++where) {
        for (int ask = 0; ask <= static_cast<int>(Ask::kCount); ++ask) bench->Args({ask, where});
    }
}
/// kCount stands for a mixture of all but kCommonest.
BENCHMARK(BM_Query)
    ->ArgNames({"ask", "where"})
    ->Apply(every_question)
    ->Iterations(3'000)
    ->Unit(benchmark::kMillisecond);

/// range(0) callers append one entry each, again and again, through the queue; one event loop,
/// durable against loss of power.
void BM_Append(benchmark::State& state) {
    TestFolder folder;
    const auto store = std::move(MemoryStoreSqlite::open(folder / "memory.db").value());
    BlockingPool pool(1);
    RealClock clock;
    WriteQueue queue(*store, pool, clock);
    TimerWheel timers(clock);
    IdSource ids(clock);
    std::mt19937_64 random(5);
    std::int64_t done = 0;
    bool stop = false;
    asio::io_context io(1);
    const auto caller = [&]() -> Task<void> {
        while (!stop) {
            MemoryWrite write = append_of(ids, random, scope_sizes()(random),
                                          std::chrono::floor<Milliseconds>(clock.system_now()));
            const auto written = co_await queue.write(std::move(write), timers, kNoDeadline);
            if (!written) std::abort();
            ++done;
        }
    };
    for (std::int64_t i = 0; i < state.range(0); ++i)
        spawn(io.get_executor(), caller(), [](const std::exception_ptr&) {});
    for (auto _ : state) {
        const std::int64_t until = done + 1'000;
        while (done < until) io.run_one();
    }
    state.SetItemsProcessed(done);
    stop = true;
    io.run();
}
BENCHMARK(BM_Append)->Arg(1)->Arg(16)->Arg(256)->Arg(2'048)->UseRealTime()->MinTime(3);

/// Everything in a scope of range(0) entries is deleted at once.
void BM_DeleteAll(benchmark::State& state) {
    FakeClock clock;
    IdSource ids(clock, 1);
    std::mt19937_64 random(5);
    for (auto _ : state) {
        state.PauseTiming();
        TestFolder folder;
        const auto store = std::move(MemoryStoreSqlite::open(folder / "memory.db").value());
        std::vector<MemoryWrite> batch;
        for (std::int64_t i = 0; i < state.range(0); ++i)
            batch.push_back(append_of(ids, random, 0, clock.system_now()));
        (void)store->write(batch);
        const MemoryWrite all{.scope = scope_of(0),
                              .principal = "caller/bench",
                              .key = "all",
                              .operation_id = "all",
                              .at = clock.system_now(),
                              .change = MemoryDelete(DeleteAll{})};
        state.ResumeTiming();
        if (!store->write(std::span(&all, 1))[0]) state.SkipWithError("delete failed");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_DeleteAll)
    ->Arg(1'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::store::sqlite
