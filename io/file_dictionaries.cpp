#include "io/file_dictionaries.hpp"

#include <arrow/array/validate.h>
#include <arrow/buffer_builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/task_threads.hpp"
#include "io/columns/value_ranges.hpp"

namespace garuda::io {
namespace {

bool is_dictionary(arrow::ArrayData const& column) { return column.type->id() == arrow::Type::DICTIONARY; }

/// Whether values without nulls lie in [least, most]. Arrow looks at them one by one, this at a register of them.
template <class T>
bool values_lie_between(arrow::ArrayData const& column, std::int64_t least, std::int64_t most) {
  if (column.buffers.size() != 2 || column.buffers[1] == nullptr || column.GetNullCount() != 0) return false;
  auto const bytes = static_cast<std::int64_t>(sizeof(T));
  if (column.length < 0 || column.offset < 0 || column.buffers[1]->size() / bytes - column.offset < column.length)
    return false;
  return lie_between(std::span(column.GetValues<T>(1), static_cast<std::size_t>(column.length)), least, most);
}

/// Whether it is plain to see that the column is valid: indices within their dictionary, decimals within their digits.
bool is_plainly_valid(arrow::ArrayData const& column) {
  auto const& type = *column.type;
  if (is_dictionary(column)) {
    auto const most = std::min<std::int64_t>(column.dictionary->length - 1, std::numeric_limits<std::int32_t>::max());
    auto const index = static_cast<arrow::DictionaryType const&>(type).index_type()->id();
    return index == arrow::Type::INT32 && values_lie_between<std::int32_t>(column, 0, most);
  }
  if (type.id() != arrow::Type::DECIMAL32 && type.id() != arrow::Type::DECIMAL64) return false;
  auto const most = greatest_integer(type);
  return type.id() == arrow::Type::DECIMAL32 ? values_lie_between<std::int32_t>(column, -most, most)
                                             : values_lie_between<std::int64_t>(column, -most, most);
}

/// Validates a column but for the values of its dictionary.
arrow::Status validate_column(arrow::ArrayData const& column) {
  if ((!is_dictionary(column) || column.dictionary != nullptr) && is_plainly_valid(column)) return arrow::Status::OK();
  if (!is_dictionary(column) || column.dictionary == nullptr) return arrow::internal::ValidateArrayFull(column);
  auto indices = column;
  indices.dictionary = std::make_shared<arrow::NullArray>(column.dictionary->length)->data();
  return arrow::internal::ValidateArrayFull(indices);
}

/// Validate looks at the dictionaries, too, but not at each of their values.
arrow::Status validate_batch(arrow::RecordBatch const& batch) {
  ARROW_RETURN_NOT_OK(batch.Validate());
  for (auto const& column : batch.column_data()) ARROW_RETURN_NOT_OK(validate_column(*column));
  return arrow::Status::OK();
}

/// Calls check(i) for i below `count` on as many threads; returns the first failure.
template <class Check>
arrow::Status check_all(std::uint32_t threads, std::size_t count, Check const& check) {
  std::vector<arrow::Status> statuses(count);
  on_threads(threads,
             [&] { tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { statuses[i] = check(i); }); });
  for (auto& status : statuses) ARROW_RETURN_NOT_OK(status);
  return arrow::Status::OK();
}

/// True when all batches have the same dictionary in the column.
bool shares_dictionary(ArrowBatches const& batches, int column) {
  auto const& first = batches.front()->column_data(column)->dictionary;
  return std::all_of(batches.begin(), batches.end(),
                     [&](auto const& batch) { return batch->column_data(column)->dictionary == first; });
}

/// The dictionary of a column of all batches.
struct OneDictionary {
  std::shared_ptr<arrow::Array> values;              ///< nullptr: batches keep their own
  std::vector<std::shared_ptr<arrow::Buffer>> maps;  ///< of each batch: int32 places in `values` of its own values
};

arrow::Result<OneDictionary> dictionary_of(ArrowBatches const& batches, int column) {
  auto const& type = static_cast<arrow::DictionaryType const&>(*batches.front()->column(column)->type());
  ARROW_ASSIGN_OR_RAISE(auto const unifier, arrow::DictionaryUnifier::Make(type.value_type(), memory_pool()));
  OneDictionary one;
  std::unordered_map<arrow::ArrayData const*, std::shared_ptr<arrow::Buffer>> known;
  for (auto const& batch : batches) {
    auto const& array = static_cast<arrow::DictionaryArray const&>(*batch->column(column));
    auto& map = known[array.data()->dictionary.get()];
    if (map == nullptr) {
      ARROW_RETURN_NOT_OK(unifier->Unify(*array.dictionary(), &map));
    }
    one.maps.push_back(map);
  }
  ARROW_RETURN_NOT_OK(unifier->GetResultWithIndexType(type.index_type(), &one.values));
  return one;
}

}  // namespace

arrow::Status validate_values(arrow::ArrayData const& column) {
  ARROW_RETURN_NOT_OK(arrow::internal::ValidateArray(column));
  if (is_dictionary(column) && column.dictionary != nullptr)
    ARROW_RETURN_NOT_OK(arrow::internal::ValidateArrayFull(*column.dictionary));
  return validate_column(column);
}

arrow::Status FileDictionaries::validate(ArrowBatches const& batches, std::uint32_t threads,
                                         std::atomic<bool> const* cancelled) {
  std::unordered_set<Dictionary> present;
  std::vector<arrow::ArrayData const*> unknown;
  for (auto const& batch : batches)
    for (auto const& column : batch->column_data())
      if (is_dictionary(*column) && column->dictionary != nullptr && present.insert(column->dictionary).second &&
          !validated_.contains(column->dictionary))
        unknown.push_back(column->dictionary.get());
  ARROW_RETURN_NOT_OK(check_all(threads, unknown.size(),
                                [&](std::size_t i) { return arrow::internal::ValidateArrayFull(*unknown[i]); }));
  ARROW_RETURN_NOT_OK(check_all(threads, batches.size(), [&](std::size_t i) {
    bool const stop = cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
    return stop ? arrow::Status::Cancelled("interrupted while reading") : validate_batch(*batches[i]);
  }));
  validated_ = std::move(present);
  return arrow::Status::OK();
}

arrow::Result<ArrowBatches> FileDictionaries::as_one(ArrowBatches batches, std::uint32_t threads) {
  if (batches.size() < 2) return batches;
  for (int i = 0; i < batches.front()->num_columns(); ++i)
    if (!shares_dictionary(batches, i)) return batches;
  ARROW_RETURN_NOT_OK(validate(batches, threads));
  auto const one = arrow::ConcatenateRecordBatches(batches, memory_pool());
  if (one.status().IsInvalid()) return batches;
  ARROW_RETURN_NOT_OK(one.status());
  return ArrowBatches{*one};
}

arrow::Result<FileDictionaries::WithoutNulls> FileDictionaries::drop_nulls(
    Dictionary const& dictionary, std::shared_ptr<arrow::DataType> const& index_type) {
  WithoutNulls result{dictionary, nullptr, nullptr};
  auto const values = arrow::MakeArray(dictionary);
  arrow::TypedBufferBuilder<std::int64_t> positions(memory_pool());
  arrow::TypedBufferBuilder<bool> valid(memory_pool());
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < values->length(); ++i) {
    ARROW_RETURN_NOT_OK(valid.Append(values->IsValid(i)));
    ARROW_RETURN_NOT_OK(positions.Append(next));
    next += values->IsValid(i) ? 1 : 0;
  }
  ARROW_ASSIGN_OR_RAISE(auto const bits, valid.Finish());
  ARROW_ASSIGN_OR_RAISE(auto const numbers, positions.Finish());
  auto context = single_threaded();
  ARROW_ASSIGN_OR_RAISE(result.values, arrow::compute::DropNull(*values, &context));
  auto const all = arrow::MakeArray(arrow::ArrayData::Make(arrow::int64(), values->length(), {bits, numbers}));
  ARROW_ASSIGN_OR_RAISE(result.positions,
                        arrow::compute::Cast(*all, index_type, arrow::compute::CastOptions::Safe(), &context));
  return result;
}

arrow::Result<ArrowBatches> FileDictionaries::without_null_values(ArrowBatches batches) {
  decltype(without_nulls_) present;
  for (auto& batch : batches) {
    for (int i = 0; i < batch->num_columns(); ++i) {
      auto const dictionary = batch->column_data(i)->dictionary;
      if (dictionary == nullptr || dictionary->GetNullCount() == 0) continue;
      auto const& column = static_cast<arrow::DictionaryArray const&>(*batch->column(i));
      if (!present.contains(dictionary.get())) {
        auto known = without_nulls_.extract(dictionary.get());
        if (known.empty()) {
          ARROW_ASSIGN_OR_RAISE(present[dictionary.get()], drop_nulls(dictionary, column.indices()->type()));
        } else {
          present.insert(std::move(known));
        }
      }
      auto const& replaced = present.at(dictionary.get());
      auto context = single_threaded();
      ARROW_ASSIGN_OR_RAISE(auto const indices,
                            arrow::compute::Take(*replaced.positions, *column.indices(),
                                                 arrow::compute::TakeOptions::NoBoundsCheck(), &context));
      ARROW_ASSIGN_OR_RAISE(
          batch, batch->SetColumn(i, batch->schema()->field(i),
                                  std::make_shared<arrow::DictionaryArray>(column.type(), indices, replaced.values)));
    }
  }
  without_nulls_ = std::move(present);
  return batches;
}

arrow::Result<ArrowBatches> unify_dictionaries(ArrowBatches batches, std::uint32_t threads) {
  if (batches.size() < 2) return batches;
  auto const& fields = batches.front()->schema()->fields();
  std::vector<int> differing;
  for (int i = 0; i < batches.front()->num_columns(); ++i)
    if (fields[static_cast<std::size_t>(i)]->type()->id() == arrow::Type::DICTIONARY && !shares_dictionary(batches, i))
      differing.push_back(i);
  if (differing.empty()) return batches;
  std::vector<OneDictionary> unified(differing.size());
  ARROW_RETURN_NOT_OK(check_all(threads, differing.size(), [&](std::size_t i) -> arrow::Status {
    auto one = dictionary_of(batches, differing[i]);
    // Some value types cannot be unified; their batches keep dictionaries of their own, which is as valid.
    if (one.status().IsNotImplemented()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(unified[i], std::move(one));
    return arrow::Status::OK();
  }));
  ARROW_RETURN_NOT_OK(check_all(threads, batches.size(), [&](std::size_t b) -> arrow::Status {
    auto columns = batches[b]->columns();
    for (std::size_t i = 0; i < differing.size(); ++i) {
      if (unified[i].values == nullptr) continue;
      auto& column = columns[static_cast<std::size_t>(differing[i])];
      auto const* const map = unified[i].maps[b]->data_as<std::int32_t>();
      ARROW_ASSIGN_OR_RAISE(column, static_cast<arrow::DictionaryArray const&>(*column).Transpose(
                                        column->type(), unified[i].values, map, memory_pool()));
    }
    batches[b] = arrow::RecordBatch::Make(batches[b]->schema(), batches[b]->num_rows(), std::move(columns));
    return arrow::Status::OK();
  }));
  return batches;
}

}  // namespace garuda::io
