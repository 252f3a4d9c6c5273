#pragma once

#include "cli/commands.hpp"

#include <type_traits>
#include <utility>

namespace crab::cli {

/// What a command line asks for: one subcommand with its options. Not a variant of all of them,
/// whose moves alone cost each unit that knows it seconds to compile.
class Command {
public:
    virtual ~Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Runs it. Returns a process exit code (exit_codes.hpp).
    virtual int start(const GatewayProgram& gateway) const = 0;
    /// The gateway that it asks; null for what is about this machine whatever is in use.
    virtual Target* asked() = 0;

protected:
    Command() = default;
};

/// The subcommand whose options are the struct `Options` of commands.hpp.
template <class Options>
class CommandOf final : public Command {
public:
    explicit CommandOf(Options given) : options(std::move(given)) {}

    int start(const GatewayProgram& gateway) const override {
        if constexpr (requires { run(options, gateway); })
            return run(options, gateway);
        else
            return run(options);
    }
    Target* asked() override {
        if constexpr (std::is_same_v<Options, Doctor>)
            return options.tool.empty() && options.device.empty() ? nullptr : &options.target;
        else if constexpr (std::is_same_v<Options, PolicyTest>)
            return options.file ? nullptr : &options.target;
        else if constexpr (!kOfThisMachine && requires { options.target; })
            return &options.target;
        else
            return nullptr;
    }

    Options options;

private:
    // Completion says nothing, whatever is wrong, and settles for itself.
    static constexpr bool kOfThisMachine = std::is_same_v<Options, CompletionNames> ||
                                           std::is_same_v<Options, Device> ||
                                           std::is_same_v<Options, McpExport>;
};

}  // namespace crab::cli
