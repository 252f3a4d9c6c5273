#include "sdk/answer_bytes.hpp"

#include "base/descriptor.hpp"
#include "base/encoding.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

class MemoryBytes final : public AnswerBytes {
public:
    explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t size() const override { return bytes_.size(); }
    void rewind() override { at_ = 0; }
    std::string_view next() override {
        const std::string_view piece = bytes_.substr(at_, kPiece);
        at_ += piece.size();
        return piece;
    }

private:
    const std::string_view bytes_;
    std::size_t at_ = 0;
};

class FileBytes final : public AnswerBytes {
public:
    FileBytes(Descriptor file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
    std::uint64_t size() const override { return size_; }
    void rewind() override { at_ = 0; }
    std::string_view next() override {
        ssize_t count = 0;
        do
            count = ::pread(
                file_.get(), space_.data(),
                static_cast<std::size_t>(std::min<std::uint64_t>(space_.size(), size_ - at_)),
                static_cast<off_t>(at_));
        while (count < 0 && errno == EINTR);
        if (count <= 0) return {};
        at_ += static_cast<std::uint64_t>(count);
        return {space_.data(), static_cast<std::size_t>(count)};
    }

private:
    const Descriptor file_;
    const std::uint64_t size_;
    std::uint64_t at_ = 0;
    std::array<char, kPiece> space_{};
};

}  // namespace

std::unique_ptr<AnswerBytes> bytes_of_answer(const ToolAnswer& answer) {
    if (!answer.is_file()) return std::make_unique<MemoryBytes>(answer.content());
    Descriptor file(::open(answer.content().c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts{};
    if (!file.is_open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        return nullptr;
    return std::make_unique<FileBytes>(std::move(file), static_cast<std::uint64_t>(facts.st_size));
}

bool is_large(const ToolAnswer& answer, std::size_t inline_bytes) {
    switch (answer.kind()) {
        case ToolAnswer::Kind::kBytes: return true;
        case ToolAnswer::Kind::kText:
        case ToolAnswer::Kind::kJson: return answer.content().size() > inline_bytes;
        case ToolAnswer::Kind::kError: return false;
    }
    return false;
}

std::string inline_bytes(const ToolAnswer& answer) {
    std::string bytes;
    if (const auto source = bytes_of_answer(answer)) {
        for (std::string_view piece = source->next(); !piece.empty(); piece = source->next())
            bytes += piece;
    }
    std::string out;
    json::Writer(out)
        .begin_object()
        .key("content_type")
        .string_lossy(answer.content_type())
        .key("base64")
        .string(to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}))
        .end_object();
    return out;
}

}  // namespace crab::sdk
