#include "base/process/subprocess.hpp"
#include "bridge/built_in/adapter_list.hpp"

#include <array>
#include <cstdlib>

#include <simdjson.h>
#include <unistd.h>

namespace crab::bridge {
namespace {

using json::Value;

constexpr std::size_t kMaxClipboard = std::size_t{256} << 10;

/// A program that prints the clipboard, the variable without which there is no such clipboard, and
/// its package.
struct Reader {
    const char *variable, *program, *package;
    std::vector<std::string> argv;
};
const std::array<Reader, 2>& readers() {
    static const std::array<Reader, 2> all{
        Reader{"WAYLAND_DISPLAY",
               "/usr/bin/wl-paste",
               "wl-clipboard",
               {"--no-newline", "--type", "text"}},
        Reader{"DISPLAY",
               "/usr/bin/xclip",
               "xclip",
               {"-out", "-selection", "clipboard", "-target", "UTF8_STRING"}}};
    return all;
}

/// Errors: kUnavailable, with what is missing.
Result<std::vector<std::string>> find_reader() {
    std::string missing = "there is no desktop (neither WAYLAND_DISPLAY nor DISPLAY is set)";
    for (const Reader& reader : readers()) {
        const char* display = std::getenv(reader.variable);
        if (display == nullptr || *display == '\0') continue;
        if (::access(reader.program, X_OK) != 0) {
            missing = std::string("install ") + reader.package;
            continue;
        }
        std::vector<std::string> argv{reader.program};
        argv.insert(argv.end(), reader.argv.begin(), reader.argv.end());
        return argv;
    }
    return fail(ErrorCode::kUnavailable, missing);
}

/// The clipboard of a desktop has no service: it is asked through wl-clipboard or xclip.
class Clipboard final : public Adapter {
public:
    explicit Clipboard(const Sources& sources)
        : clock_(sources.loop.clock()), blocking_(sources.blocking) {}

    Task<Result<void>> check(Deadline) override {
        const auto reader = find_reader();
        if (!reader) co_return fail(reader.error());
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        auto reader = find_reader();
        if (!reader) co_return fail(reader.error());
        // its owner may hang
        const Deadline soon = std::min(deadline, clock_.steady_now() + std::chrono::seconds(3));
        SubprocessOptions options{
            .argv = *std::move(reader), .deadline = soon, .max_output_bytes = kMaxClipboard};
        auto read = [options = std::move(options)] { return run_subprocess(options); };
        const Result<SubprocessEnd> end = co_await blocking_.run(std::move(read));
        if (!end && end.error().code == ErrorCode::kOversize)
            co_return fail(ErrorCode::kToolFailed, "the clipboard holds too much");
        if (!end) co_return fail(end.error());
        const bool is_text = end->exit_status == 0 &&
                             simdjson::validate_utf8(end->output.data(), end->output.size());
        if (!is_text) co_return fail(ErrorCode::kToolFailed, "the clipboard holds no text");
        co_return Value::object({{"text", end->output}});
    }

private:
    const Clock& clock_;
    BlockingPool& blocking_;
};

}  // namespace

AdapterInfo clipboard_adapter() {
    return {
        .label = "clipboard",
        .name = "Clipboard",
        .reads = "X11, Wayland",
        .on = false,
        .tools = {{"text", "The text that was copied last on this desktop", std::string(kNoArgs)}},
        .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
            return std::make_unique<Clipboard>(sources);
        }};
}

}  // namespace crab::bridge
