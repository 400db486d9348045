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

/// Calls body(first row, vector, count) for the vectors of a chunk.
template <class Body>
Result<void> SlotProgram::run(Chunk const& chunk, Body const& body) const {
  auto const table = table_of(chunk, reads_);
  std::vector<expr::ColumnReader> readers;
  for (std::size_t c = 0; c < reads_.size(); ++c) {
    GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(table.view(), c));
    readers.push_back(std::move(reader));
  }
  auto evaluator = take_evaluator();
  for (std::uint64_t begin = 0; begin < chunk.num_rows; begin += expr::kVectorRows) {
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, chunk.num_rows - begin));
    for (std::size_t r = 0; r < readers.size(); ++r) evaluator->inputs()[r] = readers[r].read(begin, count);
    GARUDA_TRY_ASSIGN(auto const vector, evaluator->run(count));
    GARUDA_TRY(body(begin, vector, count));
  }
  std::lock_guard const lock(mutex_);
  idle_.push_back(std::move(evaluator));
  return {};
}

Result<RowNumbers> SlotProgram::passing(Chunk const& chunk) const {
  RowNumbers rows(chunk.num_rows + 1);
  auto* to = rows.data();
  GARUDA_TRY(run(chunk, [&](std::uint64_t begin, expr::Vector const& vector, std::size_t count) -> Result<void> {
    auto const* const passes = vector.as<std::uint8_t>();
    // The place behind the last row that passes is written always, and kept where the row passes.
    for (std::size_t i = 0; i < count; ++i) {
      *to = static_cast<std::int64_t>(begin + i);
      to += passes[i * vector.stride()];
    }
    return {};
  }));
  rows.resize(static_cast<std::size_t>(to - rows.data()));
  return rows;
}

Result<expr::WrittenColumn> SlotProgram::values(Chunk const& chunk) const {
  expr::ColumnWriter writer(type_);
  GARUDA_TRY(run(chunk, [&](std::uint64_t, expr::Vector const& vector, std::size_t count) {
    return writer.append(vector, count);
  }));
  return writer.finish();
}

}  // namespace garuda::pipeline
