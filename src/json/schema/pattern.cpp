#include "json/schema/pattern.hpp"

#include "json/schema/ecma_regex.hpp"
#include "json/schema/plain_pattern.hpp"

#include <re2/re2.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace crab::json {
namespace {

constexpr std::size_t kMaxPatternBytes = 64 << 10;
constexpr int kRe2Memory = 256 << 10;  // bytes for one program and its automaton
// A larger program may take RE2 microseconds for each byte and tens of milliseconds for its first
// search; `\p{L}{1,200}` has 240,000.
constexpr int kMostInstructions = 256;
// see bytes(): an automaton grows, an attempt costs time
constexpr std::size_t kPlainBytes = 1 << 10, kRe2Bytes = 32 << 10, kPcre2Bytes = 32 << 10;

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Code = std::unique_ptr<pcre2_code, FreeCode>;

/// What one search of PCRE2 may still cost, told item by item of the pattern.
struct Steps {
    std::string_view pattern;
    std::uint64_t left;
};

/// Called before each item of the pattern is tried. Those that repeat or look back may run over all
/// that is left of the text.
int count_step(pcre2_callout_block* at, void* context) {
    constexpr std::uint64_t kBytesOfStep = 64;
    Steps& steps = *static_cast<Steps*>(context);
    const std::string_view item = steps.pattern.substr(
        std::min(at->pattern_position, steps.pattern.size()), at->next_item_length);
    const bool runs_on = item.starts_with('\\') || item.ends_with('*') || item.ends_with('+') ||
                         item.ends_with('?') || item.ends_with('}');
    const std::uint64_t cost =
        1 + (runs_on ? (at->subject_length - at->current_position) / kBytesOfStep : 0);
    if (cost > steps.left) return PCRE2_ERROR_CALLOUT;
    steps.left -= cost;
    return 0;
}

/// The limits of searches on this thread.
pcre2_match_context* limits(Steps& steps) {
    thread_local const std::unique_ptr<pcre2_match_context, FreeContext> context = [] {
        constexpr std::uint32_t kDepth = 20'000, kHeapKib = 4'096;
        std::unique_ptr<pcre2_match_context, FreeContext> made(pcre2_match_context_create(nullptr));
        pcre2_set_depth_limit(made.get(), kDepth);
        pcre2_set_heap_limit(made.get(), kHeapKib);
        return made;
    }();
    pcre2_set_callout(context.get(), count_step, &steps);
    return context.get();
}

Result<Code> compile_backtracking(const std::string& text) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    Code compiled(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
        PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &code,
        &offset, nullptr));
    if (compiled) return compiled;
    std::array<PCRE2_UCHAR, 160> reason{};
    pcre2_get_error_message(code, reason.data(), reason.size());
    return fail(ErrorCode::kInvalidArgs, reinterpret_cast<const char*>(reason.data()));
}

}  // namespace

struct Pattern::Engine {
    std::optional<PlainPattern> plain;
    std::unique_ptr<re2::RE2> linear;
    std::uint64_t instructions = 0;
    Code backtracking;
    std::string text;  // of `backtracking`
};

Pattern::Pattern(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view ecma) {
    if (ecma.size() > kMaxPatternBytes)
        return fail(ErrorCode::kInvalidArgs, "the pattern is longer than 64 KiB");
    auto translated = translate_ecma_regex(ecma);
    if (!translated) return fail(std::move(translated.error()));
    auto engine = std::make_unique<Engine>();
    engine->plain = PlainPattern::find(ecma);
    if (engine->plain) return Pattern(std::move(engine));
    if (!translated->needs_backtracking) {
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(kRe2Memory);
        engine->linear = std::make_unique<re2::RE2>(translated->text, options);
        if (engine->linear->ok() && engine->linear->ProgramSize() <= kMostInstructions) {
            // what the first search builds is built here
            (void)engine->linear->Match("a", 0, 1, re2::RE2::UNANCHORED, nullptr, 0);
            engine->instructions = static_cast<std::uint64_t>(engine->linear->ProgramSize());
            return Pattern(std::move(engine));
        }
        // too large for it, or beyond its own small limits, such as 1000 repetitions
        engine->linear.reset();
    }
    auto code = compile_backtracking(translated->text);
    if (!code) return fail(std::move(code.error()));
    engine->backtracking = std::move(*code);
    engine->text = std::move(translated->text);
    return Pattern(std::move(engine));
}

std::optional<bool> Pattern::search(std::string_view text, std::uint64_t& budget) const {
    // bytes; bytes times instructions
    constexpr std::uint64_t kPlainBytesOfStep = 64, kOfStep = 128;
    if (!engine_->backtracking) {
        const std::uint64_t cost = engine_->plain
                                       ? text.size() / kPlainBytesOfStep
                                       : 1 + text.size() * (engine_->instructions + 16) / kOfStep;
        if (cost > budget) return std::nullopt;
        budget -= cost;
        return engine_->plain
                   ? engine_->plain->search(text)
                   : engine_->linear->Match(text, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
    }
    thread_local const std::unique_ptr<pcre2_match_data, FreeMatch> match(
        pcre2_match_data_create(1, nullptr));
    Steps steps{engine_->text, budget};
    const int found =
        pcre2_match(engine_->backtracking.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                    text.size(), 0, PCRE2_NO_UTF_CHECK, match.get(), limits(steps));
    budget = steps.left;
    if (found >= 0 || found == PCRE2_ERROR_NOMATCH) return found >= 0;
    return std::nullopt;  // it went beyond one of the limits
}

std::size_t Pattern::bytes() const {
    if (engine_->plain) return kPlainBytes;
    if (engine_->linear) return kRe2Bytes;
    std::size_t code = 0;
    pcre2_pattern_info(engine_->backtracking.get(), PCRE2_INFO_SIZE, &code);
    return kPcre2Bytes + code + engine_->text.size();
}

}  // namespace crab::json
