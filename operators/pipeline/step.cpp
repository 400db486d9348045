#include "operators/pipeline/step.hpp"

#include <algorithm>
#include <utility>

namespace garuda::pipeline {

Result<std::vector<Chunk>> Step::finish() const { return std::vector<Chunk>(); }

Result<void> FilterStep::push(Chunk chunk, std::size_t, Next const& next) const {
  GARUDA_TRY_ASSIGN(auto const rows, predicate_->passing(chunk));
  if (rows.empty()) return {};
  GARUDA_TRY_ASSIGN(auto taken, take(chunk, rows, live_));
  return next(std::move(taken));
}

std::vector<Slot> ComputeStep::reads() const {
  std::vector<Slot> slots;
  for (auto const& column : columns_)
    for (auto const slot : column.program->reads())
      if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  return slots;
}

std::vector<Slot> ComputeStep::makes() const {
  std::vector<Slot> slots;
  for (auto const& column : columns_) slots.push_back(column.slot);
  return slots;
}

void ComputeStep::set_live(Live live) {
  wanted_ = std::move(live.wanted);
  for (auto& column : columns_) column.narrow.reset();
}

void ComputeStep::allow_narrow(std::vector<bool> const& slots) {
  for (auto& column : columns_)
    if (slots[column.slot] && column.field.type.id == TypeId::decimal128)
      column.narrow = Field{column.field.name, column.program->narrow_type(), column.field.nullable};
}

Result<void> ComputeStep::push(Chunk chunk, std::size_t, Next const& next) const {
  for (auto const& column : columns_) {
    if (!wanted_[column.slot]) continue;
    if (column.narrow) {
      GARUDA_TRY_ASSIGN(auto narrow, column.program->narrow_values(chunk));
      if (narrow) {
        chunk.columns[column.slot] = {&*column.narrow, narrow->array, std::move(narrow->owner)};
        continue;
      }
    }
    GARUDA_TRY_ASSIGN(auto written, column.program->values(chunk));
    chunk.columns[column.slot] = {&column.field, written.array, std::move(written.owner)};
  }
  return next(std::move(chunk));
}

}  // namespace garuda::pipeline
