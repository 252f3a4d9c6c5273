#pragma once

#include "base/result.hpp"
#include "cli/command.hpp"
#include "config/paths.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// A gateway with a name: its URL, or a socket such as one that ssh forwards.
struct Context {
    std::string name, url;
    std::filesystem::path socket, token_file, ca_file;
    bool allow_plain = false;  ///< `url` may be http on another machine

    const std::string& place() const { return url.empty() ? socket.native() : url; }
};

/// The named gateways of a person, in `contexts.yaml` beside the configuration. It holds the paths
/// of tokens, no token. Each change reads and writes the whole file.
struct Contexts {
    /// The gateway of this machine; needs no entry and cannot have one.
    static constexpr std::string_view kLocal = "local";

    std::string current{kLocal};
    std::vector<Context> all{};

    static std::filesystem::path file(
        const config::Environment& environment = config::process_environment());
    /// No file: none. Errors: kForbidden when others than its owner may write it; kInvalidArgs.
    static Result<Contexts> load(const std::filesystem::path& file);
    /// Mode 0600, in place of the file at once. Errors: kForbidden.
    Result<void> save(const std::filesystem::path& file) const;
    const Context* find(std::string_view name) const;
};

/// Letters, digits, `.`, `_` and `-`, at most 64.
bool is_context_name(std::string_view name);

/// Which gateway the command asks, by what was said: `--socket`, `--url` or `--config`;
/// `--context`; CRAB_URL; CRAB_SOCKET; CRAB_CONTEXT; the context in use; this machine's. Reads the
/// token file of a context. Errors: kInvalidArgs for a URL where only a socket will do, kNotFound
/// for a context that is not there, and those of Contexts::load().
Result<void> settle(Target& target,
                    const config::Environment& environment = config::process_environment());

/// The same for the target of any command that asks a gateway; `crab devices run` and checks of
/// this machine do not.
Result<void> settle(Command& command);

}  // namespace crab::cli
