#include "operators/pipeline/slot_program.hpp"

#include <algorithm>
#include <utility>

namespace garuda::pipeline {
namespace {

/// The types of inputs as the expression has them: its strings may come as views, a dictionary as its values.
void set_types(expr::Expression const& expression, std::vector<DataType>& types) {
  if (expression.form == expr::Expression::Form::column) types[expression.column] = expression.type;
  for (auto const& argument : expression.arguments) set_types(argument, types);
}

}  // namespace

Result<std::unique_ptr<SlotProgram>> SlotProgram::create(expr::Expression expression, expr::Nulls nulls) {
  std::unique_ptr<SlotProgram> program(new SlotProgram());
  program->type_ = expression.type;
  expr::visit_columns(expression, [&](std::size_t& column) {
    auto const place = std::ranges::find(program->reads_, column);
    auto const input = static_cast<std::size_t>(place - program->reads_.begin());
    if (place == program->reads_.end()) program->reads_.push_back(column);
    column = input;
  });
  std::vector<DataType> types(program->reads_.size());
  set_types(expression, types);
  GARUDA_TRY_ASSIGN(program->program_, expr::compile(expression, types, nulls));
  return program;
}

std::unique_ptr<expr::Evaluator> SlotProgram::take_evaluator() const {
  {
    std::lock_guard const lock(mutex_);
    if (!idle_.empty()) {
      auto evaluator = std::move(idle_.back());
      idle_.pop_back();
      return evaluator;
    }
  }
  return std::make_unique<expr::Evaluator>(program_);
}

Result<SlotProgram::Run> SlotProgram::Run::create(SlotProgram const& program, Chunk const& chunk) {
  Run run(program, table_of(chunk, program.reads_));
  run.evaluator_ = program.take_evaluator();
  for (std::size_t c = 0; c < program.reads_.size(); ++c) {
    GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(run.table_.view(), c));
    if (run.evaluator_->takes_narrow(c)) reader.allow_narrow();
    run.readers_.push_back(std::move(reader));
  }
  return run;
}

SlotProgram::Run::~Run() {
  if (evaluator_ == nullptr) return;
  std::lock_guard const lock(program_->mutex_);
  program_->idle_.push_back(std::move(evaluator_));
}

Result<expr::Vector> SlotProgram::Run::values(std::uint64_t begin, std::size_t count, void* into) {
  for (std::size_t r = 0; r < readers_.size(); ++r) evaluator_->inputs()[r] = readers_[r].read(begin, count);
  return evaluator_->run(count, into);
}

Result<expr::Vector> SlotProgram::Run::values(std::uint64_t begin, std::span<std::uint16_t const> rows) {
  for (std::size_t r = 0; r < readers_.size(); ++r) evaluator_->inputs()[r] = readers_[r].read(begin, rows);
  return evaluator_->run(rows.size());
}

DataType SlotProgram::narrow_type() const {
  auto type = type_;
  type.id = TypeId::decimal64;
  return type;
}

Result<expr::WrittenColumn> SlotProgram::values(Chunk const& chunk) const {
  GARUDA_TRY_ASSIGN(auto written, write(chunk, type_));
  return std::move(*written);
}

Result<std::optional<expr::WrittenColumn>> SlotProgram::narrow_values(Chunk const& chunk) const {
  GARUDA_EXPECTS(type_.id == TypeId::decimal128);
  return write(chunk, narrow_type());
}

/// Writes a column of the program's type, or of a narrow one; nullopt: a value does not fit it.
Result<std::optional<expr::WrittenColumn>> SlotProgram::write(Chunk const& chunk, DataType const& type) const {
  bool const is_narrow = type.id != type_.id;
  expr::ColumnWriter writer(type);
  writer.reserve(static_cast<std::size_t>(chunk.num_rows));
  GARUDA_TRY_ASSIGN(auto run, Run::create(*this, chunk));
  for (std::uint64_t begin = 0; begin < chunk.num_rows; begin += expr::kVectorRows) {
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, chunk.num_rows - begin));
    GARUDA_TRY_ASSIGN(auto const vector, run.values(begin, count, writer.room(count)));
    if (is_narrow && !vector.is_narrow) return std::nullopt;
    GARUDA_TRY(writer.append(vector, count));
  }
  return std::optional(writer.finish());
}

}  // namespace garuda::pipeline
