// Tables imported from foreign Arrow batches.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "tests/core/foreign_arrow.hpp"

namespace garuda::testing {

/// A table and the foreign batches behind it.
struct ForeignTable {
  std::vector<std::unique_ptr<ForeignBatch>> batches;
  Table table;
};

inline Table import_all(std::vector<std::unique_ptr<ForeignBatch>> const& batches) {
  std::vector<ForeignBatch*> pointers;
  for (auto const& batch : batches) pointers.push_back(batch.get());
  ForeignStream stream(pointers);
  auto table = import_arrow(&stream.stream);
  if (!table) throw LogicError(table.error().describe());
  return std::move(*table);
}

template <class... Batches>
ForeignTable table_of(Batches... batches) {
  ForeignTable result;
  (result.batches.push_back(std::make_unique<ForeignBatch>(std::move(batches))), ...);
  result.table = import_all(result.batches);
  return result;
}

}  // namespace garuda::testing
