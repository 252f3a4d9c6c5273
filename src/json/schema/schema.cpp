#include "json/schema/schema.hpp"

#include "json/schema/schema_compiler.hpp"
#include "json/schema/schema_objects.hpp"
#include "json/schema/schema_validation.hpp"

namespace crab::json {

Schema::Schema(std::unique_ptr<const SchemaProgram> program) : program_(std::move(program)) {}
Schema::~Schema() = default;

Result<std::shared_ptr<const Schema>> Schema::compile(std::string_view text,
                                                      const SchemaOptions& options) {
    SchemaCompiler compiler(options);
    auto program = compiler.compile(text);
    if (options.spent != nullptr) *options.spent = compiler.spent();
    if (!program) return fail(std::move(program.error()));
    return std::shared_ptr<const Schema>(new Schema(std::move(*program)));
}

bool Schema::is_valid(Element instance) const {
    return SchemaValidation(*program_, nullptr, 0).run(instance);
}

std::vector<SchemaViolation> Schema::validate(Element instance, std::size_t max_errors) const {
    std::vector<SchemaViolation> violations;
    SchemaValidation(*program_, &violations, std::max<std::size_t>(max_errors, 1)).run(instance);
    return violations;
}

std::vector<SchemaViolation> Schema::check(Element instance, std::size_t max_errors) const {
    SchemaValidation quick(*program_, nullptr, 0);
    if (quick.run(instance)) return {};
    if (!quick.exhausted()) return validate(instance, max_errors);
    return {too_costly(*program_)};
}

std::size_t Schema::program_bytes() const { return program_->bytes; }
bool Schema::may_accept_objects() const { return json::may_accept_objects(*program_); }

}  // namespace crab::json
