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

/// Memory that a test table's batches keep alive.
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
    if (!column.valid.empty()) array.validity = add_bits(column.valid);
    buffers_->values.push_back(std::move(values));
    schema_.push_back({std::move(column.name), std::move(column.type), true});
    arrays_.push_back(array);
    return *this;
  }

  /// Strings, values with 32-bit offsets. `valid` empty: no nulls.
  TestTable& add_text(std::string name, std::vector<std::string> const& texts, std::vector<bool> valid = {}) {
    auto offsets = std::make_shared<std::vector<std::int32_t>>(1, 0);
    auto bytes = std::make_shared<std::string>();
    for (auto const& text : texts) {
      *bytes += text;
      offsets->push_back(static_cast<std::int32_t>(bytes->size()));
    }
    ArrayView array;
    array.offsets = offsets->data();
    array.values = bytes->data();
    buffers_->values.push_back(std::move(offsets));
    buffers_->values.push_back(std::move(bytes));
    return add_array(std::move(name), TypeId::utf8, array, texts.size(), valid);
  }

  TestTable& add_flags(std::string name, std::vector<bool> const& flags, std::vector<bool> valid = {}) {
    ArrayView array;
    array.values = add_bits(flags);
    return add_array(std::move(name), TypeId::boolean, array, flags.size(), valid);
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
  std::uint8_t const* add_bits(std::vector<bool> const& bits) {
    auto& bitmap = buffers_->bitmaps.emplace_back((bits.size() + 7) / 8, std::uint8_t{0});
    for (std::size_t i = 0; i < bits.size(); ++i)
      if (bits[i]) bitmap[i / 8] = static_cast<std::uint8_t>(bitmap[i / 8] | (1U << (i % 8)));
    return bitmap.data();
  }

  TestTable& add_array(std::string name, TypeId id, ArrayView array, std::size_t rows, std::vector<bool> const& valid) {
    num_rows_ = static_cast<std::int64_t>(rows);
    array.length = num_rows_;
    if (!valid.empty()) array.validity = add_bits(valid);
    DataType type;
    type.id = id;
    schema_.push_back({std::move(name), std::move(type), true});
    arrays_.push_back(array);
    return *this;
  }

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
