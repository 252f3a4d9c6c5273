#include "hosts/command/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace crab::command {

Descriptor memory_file(std::string_view text) {
    Descriptor file(::memfd_create("crab-sandbox", MFD_CLOEXEC));
    if (!file.is_open() ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return Descriptor();
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

std::string ended_by_nul(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(word).push_back('\0');
    return text;
}

}  // namespace crab::command
