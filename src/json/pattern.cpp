#include "json/pattern.hpp"

#include "json/ecma_regex.hpp"
#include "json/plain_pattern.hpp"

#include <re2/re2.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <optional>

namespace crab::json {
namespace {

constexpr std::size_t kMaxPatternBytes = 64 << 10;
constexpr int kRe2Memory = 4 << 20;  // bytes for one program and its automaton

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

// The limits of one search, shared by all of them.
pcre2_match_context* limits() {
    static const std::unique_ptr<pcre2_match_context, FreeContext> context = [] {
        constexpr std::uint32_t kSteps = 200'000, kDepth = 2'000, kHeapKib = 4'096;
        std::unique_ptr<pcre2_match_context, FreeContext> made(pcre2_match_context_create(nullptr));
        pcre2_set_match_limit(made.get(), kSteps);
        pcre2_set_depth_limit(made.get(), kDepth);
        pcre2_set_heap_limit(made.get(), kHeapKib);
        return made;
    }();
    return context.get();
}

Result<Code> compile_backtracking(const std::string& text) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    Code compiled(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
                                &code, &offset, nullptr));
    if (compiled) return compiled;
    std::array<PCRE2_UCHAR, 160> reason{};
    pcre2_get_error_message(code, reason.data(), reason.size());
    return fail(ErrorCode::kInvalidArgs, reinterpret_cast<const char*>(reason.data()));
}

}  // namespace

struct Pattern::Engine {
    std::optional<PlainPattern> plain;
    std::unique_ptr<re2::RE2> linear;
    Code backtracking;
};

Pattern::Pattern(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view ecma) {
    if (ecma.size() > kMaxPatternBytes) return fail(ErrorCode::kInvalidArgs, "the pattern is longer than 64 KiB");
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
        if (engine->linear->ok()) return Pattern(std::move(engine));
        if (engine->linear->error_code() == re2::RE2::ErrorPatternTooLarge) return fail(ErrorCode::kInvalidArgs, "the pattern is too large when compiled");
        engine->linear.reset();  // RE2 has its own small limits, such as 1000 repetitions
    }
    auto code = compile_backtracking(translated->text);
    if (!code) return fail(std::move(code.error()));
    engine->backtracking = std::move(*code);
    return Pattern(std::move(engine));
}

bool Pattern::search(std::string_view text) const {
    if (engine_->plain) return engine_->plain->search(text);
    if (engine_->linear) return engine_->linear->Match(text, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
    thread_local const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
    return pcre2_match(engine_->backtracking.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, match.get(), limits()) >= 0;
}

}  // namespace crab::json
