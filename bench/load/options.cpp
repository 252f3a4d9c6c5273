#include "load/options.hpp"

#include <stdexcept>
#include <utility>

namespace crab::bench {

Options::Options(int argc, char** argv, int first) {
    for (int i = first; i < argc; i += 2) {
        const std::string name = argv[i];
        if (!name.starts_with("--") || i + 1 >= argc)
            throw std::invalid_argument("expected --name value at " + name);
        left_[name.substr(2)] = argv[i + 1];
    }
}

std::string Options::text(const std::string& name, const std::string& otherwise) {
    const auto found = left_.extract(name);
    return found.empty() ? otherwise : std::move(found.mapped());
}

double Options::number(const std::string& name, double otherwise) {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::stod(value);
}

std::size_t Options::count(const std::string& name, std::size_t otherwise) {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::stoul(value);
}

void Options::refuse_others() const {
    if (!left_.empty()) throw std::invalid_argument("unknown option --" + left_.begin()->first);
}

}  // namespace crab::bench
