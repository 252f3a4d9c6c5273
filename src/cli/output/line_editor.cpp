#include "cli/output/line_editor.hpp"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <histedit.h>
#include <sys/stat.h>

namespace crab::cli {
namespace {

constexpr int kRemembered = 1'000;   // lines

/// Letters beyond ASCII are letters in any locale that people are likely to have, or to have
/// forgotten.
void use_characters() {
    if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1)
        std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

struct LineEditor::State {
    EditLine* editor = nullptr;
    History* history = nullptr;
    std::filesystem::path file;
    std::string prompt;
    bool interrupted = false;

    static State& of(EditLine* editor) {
        void* state = nullptr;
        el_get(editor, EL_CLIENTDATA, &state);
        return *static_cast<State*>(state);
    }
    static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }
    static unsigned char on_interrupt(EditLine* editor, int) {
        of(editor).interrupted = true;
        return CC_EOF;
    }
};

LineEditor::LineEditor(std::string_view program, std::filesystem::path file)
    : state_(std::make_unique<State>()) {
    use_characters();
    State& state = *state_;
    state.file = std::move(file);
    // The answer goes to standard output, which may be a file; the conversation with the person is
    // on standard error.
    state.editor = el_init(std::string(program).c_str(), stdin, stderr, stderr);
    state.history = history_init();
    HistEvent event;
    history(state.history, &event, H_SETSIZE, kRemembered);
    history(state.history, &event, H_SETUNIQUE, 1);
    if (!state.file.empty()) history(state.history, &event, H_LOAD, state.file.c_str());
    el_set(state.editor, EL_CLIENTDATA, state_.get());
    el_set(state.editor, EL_EDITOR, "emacs");
    el_set(state.editor, EL_PROMPT, &State::show_prompt);
    el_set(state.editor, EL_HIST, ::history, state.history);
    el_set(state.editor, EL_SIGNAL, 0);
    // While a line is edited Ctrl-C is a key like others: it drops the line and not the program.
    el_set(state.editor, EL_SETTY, "-d", "-isig", nullptr);
    el_set(state.editor, EL_ADDFN, "drop-line", "Drop the line", &State::on_interrupt);
    el_set(state.editor, EL_BIND, "^C", "drop-line", nullptr);
    el_set(state.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() {
    State& state = *state_;
    if (!state.file.empty()) {
        std::error_code ignored;
        std::filesystem::create_directories(state.file.parent_path(), ignored);
        const mode_t before = ::umask(077);
        HistEvent event;
        history(state.history, &event, H_SAVE, state.file.c_str());
        ::umask(before);
    }
    history_end(state.history);
    el_end(state.editor);
}

LineEditor::Line LineEditor::read(std::string_view prompt) {
    State& state = *state_;
    state.prompt = prompt;
    state.interrupted = false;
    int length = 0;
    const char* const text = el_gets(state.editor, &length);
    if (state.interrupted) {
        el_set(state.editor, EL_UNBUFFERED, 0);
        el_reset(state.editor);
        std::fputs("^C\n", stderr);
        return {.end = End::kInterrupt};
    }
    if (text == nullptr || length <= 0) return {.end = End::kEnd};
    std::string line(text, static_cast<std::size_t>(length));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return {.end = End::kLine, .text = std::move(line)};
}

void LineEditor::remember(const std::string& line) {
    HistEvent event;
    history(state_->history, &event, H_ENTER, line.c_str());
}

}  // namespace crab::cli
