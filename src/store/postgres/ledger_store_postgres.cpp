#include "store/postgres/ledger_store_postgres.hpp"

#include "base/encoding.hpp"
#include "base/id_source.hpp"
#include "base/log.hpp"
#include "crypto/digest.hpp"
#include "crypto/random.hpp"
#include "store/postgres/ledger_statements.hpp"
#include "store/postgres/stored_outcome.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

namespace crab::store::postgres {
namespace {

using core::LedgerEntry;
using core::LedgerRef;
using core::LedgerStatus;

/// Of the last run: whose records the audit log may lack
constexpr std::int64_t kLateMs = 5'000;
constexpr std::int64_t kMostLate = 1'000;
constexpr std::int64_t kForgetRows = 1'000;
constexpr std::chrono::seconds kSendOwedEvery{1};
constexpr std::size_t kOwedInABatch = 500;

std::uint64_t big_endian(const std::uint8_t* bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
    return value;
}

std::uint64_t random_half() {
    std::array<std::uint8_t, 8> bytes{};
    crypto::fill_random(bytes);
    return big_endian(bytes.data()) | 1;  // never 0
}

/// Each part with its length, so that parts that meet elsewhere give another key.
std::pair<std::uint64_t, std::uint64_t> key_of(std::string_view tenant, std::string_view principal,
                                               std::string_view key) {
    std::string text;
    for (const std::string_view part : {tenant, principal, key})
        text.append(std::to_string(part.size())).append(":").append(part);
    const crypto::Sha256Digest digest = crypto::sha256(text);
    return {big_endian(digest.data()), big_endian(digest.data() + 8)};
}

std::string uuid(std::uint64_t high, std::uint64_t low) {
    return std::string(UuidText(high, low).view());
}
std::string text_of(LedgerRef ref) { return uuid(ref.high, ref.low); }
std::string place_of(LedgerRef ref) { return uuid(ref.place_high, ref.place_low); }

/// Of a column of type uuid.
std::pair<std::uint64_t, std::uint64_t> halves_of(std::string_view text) {
    std::string digits;
    std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != '-'; });
    const std::string bytes = from_hex(digits).value_or("");
    if (bytes.size() != 16) return {};
    const auto* const raw = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return {big_endian(raw), big_endian(raw + 8)};
}

std::int64_t micros(std::chrono::nanoseconds span) {
    return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
}

std::unexpected<Error> fenced() {
    return fail(ErrorCode::kUnavailable,
                "another process writes as this node: start this one again, or give it a number "
                "of its own");
}

std::unexpected<Error> busy() {
    return fail(ErrorCode::kUnavailable, "database: busy with the same rows: repeat");
}

}  // namespace

/// A row of `call` with what was decided.
struct LedgerStorePostgres::Known {
    LedgerEntry entry;
    bool released = false;
    std::uint64_t process = 0;  ///< of the tool's host
    NodeClaim owner{};
};

/// What is written together, and the answers so far.
struct LedgerStorePostgres::Batch {
    const std::vector<core::LedgerChange>& changes;
    NodeClaim node{};  ///< that writes it
    bool ends_fenced = false;  ///< it has ends, and that node may not write
    bool admits = false;  ///< its admissions were sent, so they may be there whatever came back
    std::vector<LedgerRef> refs{};  ///< of the admissions; of others, none
    std::vector<std::optional<Result<LedgerEntry>>> answers{};

    template <class Change>
    void each(auto visit) const {
        for (std::size_t i = 0; i < changes.size(); ++i)
            if (const auto* const one = std::get_if<Change>(&changes[i])) visit(i, *one);
    }
};

LedgerStorePostgres::LedgerStorePostgres(std::unique_ptr<Connection> database, NodeRights rights)
    : database_(std::move(database)), rights_(std::move(rights)), boot_(random_half()) {}

LedgerStorePostgres::LedgerStorePostgres(ConnectionOptions options, NodeRights rights)
    : LedgerStorePostgres(std::make_unique<Connection>(std::move(options)), std::move(rights)) {}

Result<std::unique_ptr<LedgerStorePostgres>> LedgerStorePostgres::open(ConnectionOptions options,
                                                                       std::int16_t node,
                                                                       std::string_view name) {
    auto database = std::make_unique<Connection>(std::move(options));
    auto claim = claim_node(*database, node, name);
    if (!claim) return fail(std::move(claim.error()));
    return std::unique_ptr<LedgerStorePostgres>(
        new LedgerStorePostgres(std::move(database), alone(*claim)));
}

LedgerRef LedgerStorePostgres::next_ref(const core::LedgerAdmission& admission) {
    const auto [high, low] = key_of(admission.tenant, admission.principal, admission.key);
    return {.high = boot_, .low = ++last_, .place_high = high, .place_low = low};
}

// What is owed first: else a repeat would meet its key as open.
std::vector<Result<LedgerEntry>> LedgerStorePostgres::write(
    const std::vector<core::LedgerChange>& changes) {
    const std::scoped_lock lock(mutex_);
    Batch batch{.changes = changes};
    batch.refs.resize(changes.size());
    batch.each<core::LedgerAdmission>(
        [&](std::size_t i, const auto& admission) { batch.refs[i] = next_ref(admission); });
    auto written = send_owed();
    if (written || !database_->is_lost()) written = apply_twice(batch);
    if (!written && batch.ends_fenced && has_next_life(batch.node)) written = apply(batch);
    batch.answers.resize(changes.size());
    owe(batch, written.has_value());
    std::vector<Result<LedgerEntry>> answers;
    for (auto& answer : batch.answers) {
        if (answer && written)
            answers.push_back(std::move(*answer));
        else
            answers.push_back(fail(written ? busy().error() : written.error()));
    }
    return answers;
}

/// By the refs, what the lost connection has written is known.
Result<void> LedgerStorePostgres::apply_twice(Batch& batch) {
    auto written = apply(batch);
    if (!written && database_->is_lost()) written = apply(batch);
    return written;
}

/// What of a batch has to be sent again. An admission without an answer is none, for nobody runs
/// it; one that was refused alone was rolled back.
void LedgerStorePostgres::owe(const Batch& batch, bool written) {
    const bool first = owed_.empty();
    for (std::size_t i = 0; i < batch.changes.size(); ++i) {
        const auto& answer = batch.answers[i];
        if (written && answer && *answer) continue;
        if (const auto* const end = std::get_if<core::LedgerEnd>(&batch.changes[i]))
            owed_.add(*end);
        else if (const auto* const release = std::get_if<core::LedgerRelease>(&batch.changes[i]))
            owed_.add(*release);
        else if (batch.refs[i] && batch.admits && !written)
            owed_.add(core::LedgerRelease{batch.refs[i]});
    }
    owed_count_ = owed_.size();
    if (!first || owed_.empty()) return;
    log::warn("ends of calls are not in the database; they are sent again until it takes them",
              {{"ends", owed_.size()}});
    if (sender_.joinable()) return owes_.notify_one();
    sender_ = std::jthread([this](const std::stop_token& stop) { keep_sending(stop); });
}

/// Errors: any but that a value cannot be stored; then the rest is owed still.
Result<void> LedgerStorePostgres::send_owed() {
    if (owed_.empty()) return {};
    std::size_t most = kOwedInABatch;
    while (!owed_.empty()) {
        const std::vector<core::LedgerChange> changes = owed_.oldest(most);
        Batch batch{.changes = changes};
        batch.refs.resize(changes.size());
        const auto sent = apply_twice(batch);
        if (!sent) {
            if (database_->is_lost() || !database_->refused_values()) return sent;
            // One of them cannot be stored: which?
            most = changes.size() / 2;
            if (most > 0) continue;
            log::error("the end of a call cannot be stored; its outcome stays unknown to repeats",
                       {{"reason", sent.error().message}});
        }
        most = std::min(2 * std::max<std::size_t>(most, 1), kOwedInABatch);
        owed_.remove_oldest(changes.size());
        owed_count_ = owed_.size();
    }
    log::info("ends of calls that were owed are in the database", {{"dropped", owed_.dropped()}});
    return {};
}

/// Nothing else may be written for long, and other nodes wait for these ends.
void LedgerStorePostgres::keep_sending(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        owes_.wait(lock, stop, [this] { return !owed_.empty(); });
        owes_.wait_for(lock, stop, kSendOwedEvery, [] { return false; });
        if (!stop.stop_requested()) (void)send_owed();
    }
}

LedgerStorePostgres::~LedgerStorePostgres() {
    sender_ = {};
    if (!owed_.empty())
        log::warn("ends of calls were never stored; their outcome is unknown to repeats",
                  {{"ends", owed_.size() + owed_.dropped()}});
}

// What runs ends under the next incarnation: fenced off, a node takes one within seconds.
bool LedgerStorePostgres::has_next_life(NodeClaim before) const {
    constexpr Milliseconds kLook{20};
    for (Milliseconds waited{0}; waited < rights_.patience; waited += kLook) {
        if (rights_.self() != before) return true;
        std::this_thread::sleep_for(kLook);
    }
    return rights_.self() != before;
}

// Releases first, by themselves: in one statement an admission does not see that its key is being
// released.
Result<void> LedgerStorePostgres::apply(Batch& batch) {
    batch.answers.assign(batch.changes.size(), std::nullopt);
    batch.node = rights_.self();
    batch.ends_fenced = false;
    if (auto released = write_releases(batch); !released) return released;
    const auto done = database_->transaction([&]() -> Result<void> {
        if (auto ended = write_ends(batch); !ended) return ended;
        return write_admissions(batch);
    });
    if (!done) return done;
    return read_others(batch);
}

// Of a ref that another process has admitted, and that was adopted, only this one's attempts are
// known: it is not released (docs/decisions/0028), unless it may run again.
Result<void> LedgerStorePostgres::write_releases(Batch& batch) {
    Array keys, refs, own;
    bool any = false;
    batch.each<core::LedgerRelease>([&](std::size_t i, const core::LedgerRelease& change) {
        batch.answers[i] = LedgerEntry{
            .status = LedgerStatus::kAdmitted, .ref = change.ref, .outcome = {}, .admitted_at = {}};
        keys.add(place_of(change.ref));
        refs.add(text_of(change.ref));
        own.add_flag(change.ref.high == boot_);
        any = true;
    });
    if (!any) return {};
    return database_->run(ledger_sql::kRelease, keys, refs, batch.node.number,
                          batch.node.incarnation, own);
}

Result<void> LedgerStorePostgres::write_ends(Batch& batch) {
    Array refs, durations;
    OutcomeArrays outcomes;
    std::set<std::string, std::less<>> lost;
    batch.each<core::LedgerEnd>([&](std::size_t, const core::LedgerEnd& end) {
        refs.add(text_of(end.ref));
        durations.add_number(micros(end.duration));
        outcomes.add(*end.outcome);
        lost.insert(text_of(end.ref));
    });
    if (lost.empty()) return {};
    auto rows = database_->query(
        ledger_sql::kEnd, refs, durations, outcomes.codes, outcomes.kinds, outcomes.firsts,
        outcomes.seconds, outcomes.logs, outcomes.retryable, outcomes.retry_after, outcomes.cpu,
        outcomes.wall, outcomes.memory, batch.node.number, batch.node.incarnation);
    if (!rows) return fail(std::move(rows.error()));
    batch.ends_fenced = rows->count() == 1 && (*rows)[0].is_null(0);
    if (batch.ends_fenced) return fenced();
    for (const auto row : *rows) lost.erase(row.text(0));
    if (!lost.empty()) {
        // Decided before: by this end, if the batch is sent again, or otherwise. A call that was
        // adopted keeps its ref, so another node's end may be there.
        auto same = database_->query(ledger_sql::kHasEnd, refs, outcomes.codes, outcomes.kinds,
                                     outcomes.firsts, outcomes.seconds);
        if (!same) return fail(std::move(same.error()));
        for (const auto row : *same) lost.erase(row.text(0));
    }
    batch.each<core::LedgerEnd>([&](std::size_t i, const core::LedgerEnd& end) {
        batch.answers[i] =
            LedgerEntry{.status = lost.contains(text_of(end.ref)) ? LedgerStatus::kOpen
                                                                  : LedgerStatus::kFinished,
                        .ref = end.ref,
                        .outcome = {},
                        .admitted_at = {}};
    });
    return {};
}

Result<void> LedgerStorePostgres::write_admissions(Batch& batch) {
    Array keys, refs, contents, again, records, events, addressees, tools, sources, effects, times,
        processes;
    std::vector<std::size_t> places;
    batch.each<core::LedgerAdmission>([&](std::size_t i, const core::LedgerAdmission& one) {
        places.push_back(i);
        keys.add(place_of(batch.refs[i]));
        refs.add(text_of(batch.refs[i]));
        contents.add_bytes(one.content);
        again.add_flag(one.may_run_again);
        records.add(one.record);
        events.add(one.event);
        addressees.add(one.addressee);
        tools.add(one.tool);
        sources.add(one.source);
        effects.add_flag(one.side_effects);
        times.add_number(to_unix_ms(one.at));
        processes.add_number(static_cast<std::int64_t>(one.process));
    });
    if (places.empty()) return {};
    batch.admits = true;
    auto rows = database_->query(ledger_sql::kAdmit, keys, refs, contents, again, records, events,
                                 addressees, tools, sources, effects, times, processes,
                                 batch.node.number, batch.node.incarnation);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() != static_cast<int>(places.size()))
        return fail(ErrorCode::kInternal, "database: an admission was not answered");
    if (!(*rows)[0].boolean(1)) return fenced();
    for (std::size_t n = 0; n < places.size(); ++n) {
        if (!(*rows)[static_cast<int>(n)].boolean(0)) continue;
        const std::size_t i = places[n];
        batch.answers[i] =
            LedgerEntry{.status = LedgerStatus::kAdmitted,
                        .ref = batch.refs[i],
                        .outcome = {},
                        .admitted_at = std::get<core::LedgerAdmission>(batch.changes[i]).at};
    }
    return {};
}

/// What was not inserted is there already, or was asked for.
Result<void> LedgerStorePostgres::read_others(Batch& batch) {
    const auto is_open = [&](std::size_t i) { return !batch.answers[i]; };
    bool barrier = false, any = false;
    for (std::size_t i = 0; i < batch.changes.size(); ++i) {
        any = any || is_open(i);
        barrier = barrier || (is_open(i) && batch.refs[i]);
    }
    if (!any) return {};
    auto known = read(batch, barrier);
    if (!known) return fail(std::move(known.error()));
    const auto find = [&](std::pair<std::uint64_t, std::uint64_t> key) {
        return std::ranges::find_if(*known, [&](const Known& one) {
            return std::pair(one.entry.ref.place_high, one.entry.ref.place_low) == key;
        });
    };
    batch.each<core::LedgerQuestion>([&](std::size_t i, const core::LedgerQuestion& question) {
        const auto found = find(key_of(question.tenant, question.principal, question.key));
        const bool there = found != known->end() && !found->released &&
                           found->entry.admitted_at >= question.forgotten_before;
        batch.answers[i] =
            there ? found->entry
                  : LedgerEntry{.status = LedgerStatus::kAbsent, .outcome = {}, .admitted_at = {}};
    });
    Result<void> done;
    batch.each<core::LedgerAdmission>([&](std::size_t i, const core::LedgerAdmission& admission) {
        if (!is_open(i) || !done) return;
        const LedgerRef ref = batch.refs[i];
        const auto found = find({ref.place_high, ref.place_low});
        auto answer =
            found == known->end() ? Result<LedgerEntry>(busy()) : decide(admission, ref, *found);
        if (!answer && database_->is_lost())
            done = fail(answer.error());
        else
            batch.answers[i] = std::move(answer);
    });
    return done;
}

Result<std::vector<LedgerStorePostgres::Known>> LedgerStorePostgres::read(const Batch& batch,
                                                                          bool barrier) {
    Array keys;
    batch.each<core::LedgerQuestion>([&](std::size_t, const core::LedgerQuestion& question) {
        const auto [high, low] = key_of(question.tenant, question.principal, question.key);
        keys.add(uuid(high, low));
    });
    batch.each<core::LedgerAdmission>([&](std::size_t i, const core::LedgerAdmission&) {
        if (!batch.answers[i]) keys.add(place_of(batch.refs[i]));
    });
    std::vector<Known> known;
    const auto done = database_->transaction([&]() -> Result<void> {
        auto rows = database_->query(ledger_sql::kRead, keys);
        if (!rows) return fail(std::move(rows.error()));
        for (const auto row : *rows) {
            const auto [place_high, place_low] = halves_of(row.text_view(0));
            const auto [high, low] = halves_of(row.text_view(1));
            Known one{.entry = {.status = LedgerStatus::kOpen,
                                .ref = {high, low, place_high, place_low},
                                .content = {},
                                .tool = row.text(4),
                                .source = row.text(5),
                                .side_effects = row.boolean(6),
                                .may_run_again = row.boolean(3),
                                .outcome = {},
                                .admitted_at = row.time(7)}};
            const std::string content = row.bytes(2);
            core::ContentDigest digest{};
            if (content.size() == digest.size()) {
                std::memcpy(digest.data(), content.data(), digest.size());
                one.entry.content = digest;
            }
            one.released = !row.is_null(10) && row.integer(10) == kReleased;
            one.process = static_cast<std::uint64_t>(row.integer(12));
            const NodeClaim node{.number = static_cast<std::int16_t>(row.integer(8)),
                                 .incarnation = static_cast<std::int32_t>(row.integer(9))};
            one.owner = node;
            if (!row.is_null(10) && row.integer(10) < kReleased) {
                one.entry.status = LedgerStatus::kFinished;
                one.entry.duration = std::chrono::microseconds(row.integer(11));
                one.entry.outcome = read_outcome(row, 13);
            } else if (!(node == batch.node) && !rights_.is_silent(node)) {
                one.entry.status = LedgerStatus::kRunning;
            }
            known.push_back(std::move(one));
        }
        return barrier ? database_->run(ledger_sql::kBarrier) : Result<void>();
    });
    if (!done) return fail(done.error());
    return known;
}

Result<LedgerEntry> LedgerStorePostgres::decide(const core::LedgerAdmission& admission,
                                                LedgerRef ref, const Known& known) {
    const LedgerEntry& entry = known.entry;
    if (entry.ref == ref)  // of a batch that is sent again
        return LedgerEntry{.status = LedgerStatus::kAdmitted,
                           .ref = ref,
                           .outcome = {},
                           .admitted_at = entry.admitted_at};
    const bool same = entry.content == admission.content;
    if (same && entry.status == LedgerStatus::kOpen && !known.released &&
        entry.admitted_at >= admission.forgotten_before && known.process != 0 &&
        known.process == admission.process)
        return adopt(known);
    if (known.released || entry.admitted_at < admission.forgotten_before ||
        (same && entry.status == LedgerStatus::kOpen && admission.may_run_again))
        return take_over(admission, ref, known);
    if (same) return entry;
    return LedgerEntry{
        .status = entry.content ? LedgerStatus::kConflict : LedgerStatus::kIncomparable,
        .ref = entry.ref,
        .outcome = {},
        .admitted_at = entry.admitted_at};
}

// As below. What has ended meanwhile, or is another's, is found so when it is asked for again.
Result<LedgerEntry> LedgerStorePostgres::adopt(const Known& known) {
    const std::string key = place_of(known.entry.ref), ref = text_of(known.entry.ref);
    const NodeClaim node = rights_.self();
    LedgerEntry entry = known.entry;
    return database_->transaction([&]() -> Result<LedgerEntry> {
        auto locked = database_->query(ledger_sql::kLock, key);
        if (!locked) return fail(std::move(locked.error()));
        Array refs;
        refs.add(ref);
        auto decided = database_->query(ledger_sql::kDecided, refs);
        if (!decided) return fail(std::move(decided.error()));
        const bool still = locked->count() == 1 && (*locked)[0].text_view(0) == ref &&
                           (*locked)[0].integer(1) == known.owner.number &&
                           (*locked)[0].integer(2) == known.owner.incarnation &&
                           decided->count() == 0;
        entry.status = LedgerStatus::kRunning;
        if (!still) return entry;
        auto adopted =
            database_->query(ledger_sql::kAdopt, key, ref, node.number, node.incarnation);
        if (!adopted) return fail(std::move(adopted.error()));
        if (adopted->changed() != 1) return fenced();
        entry.status = LedgerStatus::kAdmitted;
        entry.adopted = true;
        return entry;
    });
}

// The row is locked first, and what was decided is read in a statement that begins after that: else
// an end and a take-over could both be committed.
Result<LedgerEntry> LedgerStorePostgres::take_over(const core::LedgerAdmission& admission,
                                                   LedgerRef ref, const Known& known) {
    const std::string key = place_of(ref), old = text_of(known.entry.ref);
    const NodeClaim node = rights_.self();
    return database_->transaction([&]() -> Result<LedgerEntry> {
        auto locked = database_->query(ledger_sql::kLock, key);
        if (!locked) return fail(std::move(locked.error()));
        if (locked->count() != 1 || (*locked)[0].text_view(0) != old) return busy();
        if (known.entry.status != LedgerStatus::kFinished && !known.released) {
            auto decided = database_->query(ledger_sql::kDecide, old, kTakenOver);
            if (!decided) return fail(std::move(decided.error()));
            if (decided->count() == 0) return busy();  // it has ended meanwhile
        }
        auto taken = database_->query(
            ledger_sql::kTakeOver, key, text_of(ref),
            std::span<const std::uint8_t>(admission.content), admission.may_run_again,
            admission.tool, admission.source, admission.side_effects, admission.at, node.number,
            node.incarnation, static_cast<std::int64_t>(admission.process));
        if (!taken) return fail(std::move(taken.error()));
        if (taken->changed() != 1) return fenced();
        auto owed =
            database_->run(ledger_sql::kOwe, text_of(ref), node.number, node.incarnation,
                           admission.record, admission.event, admission.addressee, admission.at);
        if (!owed) return fail(std::move(owed.error()));
        return LedgerEntry{.status = LedgerStatus::kAdmitted,
                           .ref = ref,
                           .outcome = {},
                           .admitted_at = admission.at};
    });
}

Result<std::vector<core::UnfinishedCall>> LedgerStorePostgres::unfinished() {
    const std::scoped_lock lock(mutex_);
    const NodeClaim node = rights_.self();
    auto rows = database_->query(ledger_sql::kUnfinished, node.number, node.incarnation, kLateMs,
                                 kMostLate);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::UnfinishedCall> calls;
    for (const auto row : *rows) {
        core::UnfinishedCall& call = calls.emplace_back();
        call.record = row.text(0);
        call.event = row.text(1);
        call.addressee = row.text(2);
        call.admitted_at = row.time(3);
        if (row.is_null(4)) continue;
        call.duration = std::chrono::microseconds(row.integer(5));
        call.outcome = read_outcome(row, 6);
    }
    return calls;
}

Result<void> LedgerStorePostgres::mark_reported() {
    const std::scoped_lock lock(mutex_);
    const NodeClaim node = rights_.self();
    return database_->run("DELETE FROM call_debt WHERE node = $1 AND incarnation < $2", node.number,
                          node.incarnation);
}

Result<std::uint64_t> LedgerStorePostgres::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_->query(ledger_sql::kForget, before, kForgetRows);
    if (!rows) return fail(std::move(rows.error()));
    return static_cast<std::uint64_t>((*rows)[0].integer(0));
}

}  // namespace crab::store::postgres
