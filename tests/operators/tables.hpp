// Small tables for tests, in Arrow layout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "garuda/table.hpp"

namespace garuda::testing {

/// A column of fixed-width values; `valid` empty: no nulls.
template <class T>
struct TestColumn {
  std::string name;
  DataType type;
  std::vector<T> values;
  std::vector<bool> valid;
};

/// What a test table's batches keep alive.
struct TestBuffers {
  std::vector<std::shared_ptr<void const>> values;
  std::vector<std::vector<std::uint8_t>> bitmaps;
};

/// Builds a table of equally long columns, cut into batches of `batch_rows` rows (0: one batch).
class TestTable {
 public:
  template <class T>
  TestTable& add(TestColumn<T> column) {
    auto values = std::make_shared<std::vector<T>>(std::move(column.values));
    num_rows_ = static_cast<std::int64_t>(values->size());
    ArrayView array;
    array.length = num_rows_;
    array.values = values->data();
    if (!column.valid.empty()) {
      auto& bitmap = buffers_->bitmaps.emplace_back((values->size() + 7) / 8, std::uint8_t{0});
      for (std::size_t i = 0; i < values->size(); ++i)
        if (column.valid[i]) bitmap[i / 8] = static_cast<std::uint8_t>(bitmap[i / 8] | (1U << (i % 8)));
      array.validity = bitmap.data();
    }
    buffers_->values.push_back(std::move(values));
    schema_.push_back({std::move(column.name), std::move(column.type), true});
    arrays_.push_back(array);
    return *this;
  }

  Table build(std::int64_t batch_rows = 0) const {
    std::vector<Batch> batches;
    auto const step = batch_rows == 0 ? std::max<std::int64_t>(num_rows_, 1) : batch_rows;
    for (std::int64_t first = 0; first < num_rows_; first += step) {
      Batch batch;
      batch.num_rows = std::min(step, num_rows_ - first);
      for (auto const& array : arrays_) batch.columns.push_back(slice(array, first, batch.num_rows));
      batch.owner = buffers_;
      batches.push_back(std::move(batch));
    }
    return Table(schema_, std::move(batches));
  }

 private:
  Schema schema_;
  std::vector<ArrayView> arrays_;
  std::int64_t num_rows_ = 0;
  std::shared_ptr<TestBuffers> buffers_ = std::make_shared<TestBuffers>();  // bitmaps: vectors keep their address
};

inline DataType type_of(TypeId id) {
  DataType type;
  type.id = id;
  return type;
}

}  // namespace garuda::testing
