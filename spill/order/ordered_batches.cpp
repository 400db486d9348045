#include "spill/order/ordered_batches.hpp"

#include <fmt/format.h>

#include <utility>

namespace garuda::spill {
namespace {

constexpr auto kOrderSentence = "cannot put the rows of the result in order";

}  // namespace

Result<void> OrderedBatches::add(Schema const& schema, Batch batch) {
  GARUDA_TRY_ASSIGN(auto rows, io::to_arrow_batch(schema, std::move(batch)));
  rows = storable(*rows);
  if (!dictionaries_) {
    GARUDA_TRY_ASSIGN(dictionaries_, DictionaryColumns::create(rows->schema(), kOrderSentence));
    runs_.emplace(dictionaries_->spilled_schema(), columns_, limit_bytes_, folder_, control_, recorder_);
  }
  GARUDA_TRY_ASSIGN(rows, dictionaries_->detach(std::move(rows)));
  return runs_->add(rows);
}

Result<void> OrderedBatches::finish() {
  if (!dictionaries_) return {};
  GARUDA_TRY(dictionaries_->finish());
  if (dictionaries_->bytes() > limit_bytes_ / 2)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the dictionaries of the result, which stay in memory, take {} bytes, over half the limit: "
                            "{}",
                            dictionaries_->bytes(), limit_bytes_));
  return runs_->finish();
}

Result<std::optional<Batch>> OrderedBatches::next() {
  if (!dictionaries_) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto rows, runs_->next());
  if (rows == nullptr) return std::nullopt;
  GARUDA_TRY_ASSIGN(rows, dictionaries_->attach(std::move(rows)));
  if (columns_.second) {
    GARUDA_ARROW_TRY_ASSIGN(rows, rows->RemoveColumn(*columns_.second), ErrorCode::invalid_input, kOrderSentence);
  }
  // The first column stands before the second one.
  GARUDA_ARROW_TRY_ASSIGN(rows, rows->RemoveColumn(columns_.first), ErrorCode::invalid_input, kOrderSentence);
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(rows->schema(), {rows}));
  return Batch(table.batches().front());
}

}  // namespace garuda::spill
