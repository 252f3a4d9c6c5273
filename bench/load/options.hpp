#pragma once

#include <map>
#include <string>

namespace crab::bench {

/// `--name value` pairs of a command line, read by name; what is never read is an error.
class Options {
public:
    /// Throws std::invalid_argument when an option has no name or no value.
    Options(int argc, char** argv, int first);

    std::string text(const std::string& name, const std::string& otherwise = {});
    double number(const std::string& name, double otherwise);
    std::size_t count(const std::string& name, std::size_t otherwise);
    /// Throws std::invalid_argument, naming the first option that nobody asked for.
    void refuse_others() const;

private:
    std::map<std::string, std::string> left_;
};

}  // namespace crab::bench
