// Buffers of a mapped file that must not change once they were looked at.
#pragma once

#include <memory>
#include <unordered_map>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Copies those buffers of mapped batches that say where values are, and which there are: offsets, views, indices,
/// types of unions, ends of runs, validity. They are validated once and trusted from then on, while whoever overwrites
/// the file changes what is mapped. Values stay where they are. Keeps the dictionaries of the latest batch alive.
class OwnPlaces {
 public:
  /// Batches one after the other that share a dictionary share its copy. Errors: out of memory.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> of(arrow::RecordBatch const& batch);

 private:
  using Data = std::shared_ptr<arrow::ArrayData>;

  arrow::Result<Data> of(Data const& array);

  /// Copies of dictionaries by what was copied.
  using Dictionaries = std::unordered_map<Data, Data>;

  Dictionaries latest_;
  Dictionaries present_;  // of the batch that is being copied
};

}  // namespace garuda::io
